import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { UpdateMessenger } from './update-messenger.handler.ts';

const { updateMessenger } = accountRoutes;

@Controller()
export class UpdateMessengerHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(updateMessenger)
  async update({ params, body, caller, context }: ParsedRequest<typeof updateMessenger>) {
    if (params.id !== caller.userId) throw new Refusal('forbidden', 'only the user can change this account');
    const { user, position } = await this.commands.execute(new UpdateMessenger(params.id, body, context.metadata));
    return { body: user, position };
  }
}
