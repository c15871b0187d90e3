import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { UnlinkIdentity } from './unlink-identity.handler.ts';

const { unlinkIdentity } = accountRoutes;

@Controller()
export class UnlinkIdentityHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(unlinkIdentity)
  async unlink({ params, caller, context }: ParsedRequest<typeof unlinkIdentity>) {
    if (params.id !== caller.userId)
      throw new Refusal('forbidden', 'only the user can unlink an identity of this user');
    const command = new UnlinkIdentity(caller, params.identityId, context.metadata);
    return { body: undefined, position: await this.commands.execute(command) };
  }
}
