import { Query } from '@nestjs/cqrs';
import type { PublicUser } from '../../../schemas/http/account-routes.ts';
import type { UserDocument } from '../../../schemas/read-models/users.ts';

/** The user entity; of another than the caller only what everybody may see. */
export class GetUser extends Query<UserDocument | PublicUser> {
  constructor(
    readonly userId: string,
    readonly callerId: string,
  ) {
    super();
  }
}
