import { Query } from '@nestjs/cqrs';
import type { PublicUser, UserEntity } from '../../../schemas/http/user-entity.ts';

/** The user entity; of another than the caller only what everybody may see. */
export class GetUser extends Query<UserEntity | PublicUser> {
  constructor(
    readonly userId: string,
    readonly callerId: string,
  ) {
    super();
  }
}
