import type { ModuleMetadata } from '@nestjs/common';
import { FindUserByMessengerHandler, GetUserHandler } from './get-user/get-user.handler.ts';
import { GetUserHttp } from './get-user/get-user.http.ts';
import { UserSnapshots } from './get-user/user-snapshots.ts';
import { UpdateMessengerHandler } from './update-messenger/update-messenger.handler.ts';
import { UpdateMessengerHttp } from './update-messenger/update-messenger.http.ts';
import { UpdateProfileHandler } from './update-profile/update-profile.handler.ts';
import { UpdateProfileHttp } from './update-profile/update-profile.http.ts';

/** Users and their profiles. @param sources what users of earlier times are read from */
export const openUsers = (sources: ConstructorParameters<typeof UserSnapshots>[0]) =>
  ({
    controllers: [GetUserHttp, UpdateMessengerHttp, UpdateProfileHttp],
    providers: [
      { provide: UserSnapshots, useValue: new UserSnapshots(sources) },
      GetUserHandler,
      FindUserByMessengerHandler,
      UpdateMessengerHandler,
      UpdateProfileHandler,
    ],
  }) satisfies ModuleMetadata;
