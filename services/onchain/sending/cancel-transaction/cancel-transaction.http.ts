import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../schemas/http/account-routes.ts';
import type { SentTransaction } from '../../../schemas/http/onchain-routes.ts';
import { Implements, type CommandAnswer, type ParsedRequest } from '../../../shared/edge/implements.ts';
import { CancelTransaction } from './cancel-transaction.handler.ts';

const { cancelTransaction } = accountRoutes;

@Controller()
export class CancelTransactionHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(cancelTransaction)
  async cancel({
    params,
    caller,
    context,
  }: ParsedRequest<typeof cancelTransaction>): Promise<CommandAnswer<SentTransaction>> {
    const command = new CancelTransaction(params.id, caller, context.metadata);
    const { sent, position } = await this.commands.execute(command);
    return { body: sent, position };
  }
}
