import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { CancelTransaction } from './cancel-transaction.handler.ts';

const { cancelTransaction } = accountRoutes;

@Controller()
export class CancelTransactionHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(cancelTransaction)
  async cancel({ params, caller, context }: ParsedRequest<typeof cancelTransaction>) {
    const command = new CancelTransaction(params.id, caller, context.metadata);
    const { sent, position } = await this.commands.execute(command);
    return { body: sent, position };
  }
}
