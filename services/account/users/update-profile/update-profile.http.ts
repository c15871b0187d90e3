import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { UpdateProfile } from './update-profile.handler.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';

const { updateProfile } = accountRoutes;

@Controller()
export class UpdateProfileHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(updateProfile)
  async update({ params, body, caller, context }: ParsedRequest<typeof updateProfile>) {
    if (params.id !== caller.userId) throw new Refusal('forbidden', 'only the user can change this profile');
    const { user, position } = await this.commands.execute(new UpdateProfile(params.id, body, context.metadata));
    return { body: user, position };
  }
}
