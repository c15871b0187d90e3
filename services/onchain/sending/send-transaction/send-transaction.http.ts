import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../schemas/http/account-routes.ts';
import type { SentTransaction } from '../../../schemas/http/onchain-routes.ts';
import { Implements, type CommandAnswer, type ParsedRequest } from '../../../shared/edge/implements.ts';
import { SendTransaction } from './send-transaction.handler.ts';

const { sendTransaction } = accountRoutes;

@Controller()
export class SendTransactionHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(sendTransaction)
  async send({
    body,
    caller,
    context,
  }: ParsedRequest<typeof sendTransaction>): Promise<CommandAnswer<SentTransaction>> {
    const command = new SendTransaction(body, caller, context.onceId, context.metadata);
    const { sent, position } = await this.commands.execute(command);
    return { body: sent, position };
  }
}
