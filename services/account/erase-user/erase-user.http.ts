import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../schemas/http/account/account-routes.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/requests/implements.ts';
import { EraseUser } from './erase-user.handler.ts';

const { eraseUser } = accountRoutes;

@Controller()
export class EraseUserHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(eraseUser)
  async erase({ params, query, caller, context }: ParsedRequest<typeof eraseUser>) {
    if (params.id !== caller.userId) throw new Refusal('forbidden', 'only the user can erase this account');
    const erasure = new EraseUser(caller, query.abandon === 'true', context.metadata);
    return { body: undefined, position: await this.commands.execute(erasure) };
  }
}
