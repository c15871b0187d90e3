import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { SendTransaction } from './send-transaction.handler.ts';

const { sendTransaction } = accountRoutes;

@Controller()
export class SendTransactionHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(sendTransaction)
  async send({ body, caller, context }: ParsedRequest<typeof sendTransaction>) {
    const command = new SendTransaction(body, caller, context.onceId, context.metadata);
    const { sent, position } = await this.commands.execute(command);
    return { body: sent, position };
  }
}
