import { z } from 'zod';
import { isoTime, loginMethod } from '../values.ts';

export const linkedIdentity = z.object({ id: z.string(), method: loginMethod, label: z.string(), linkedAt: isoTime });

/** Collection `users`, by user id: the user entity as it is answered. */
export const userDocument = z.object({
  id: z.string(),
  username: z.string().nullable(),
  firstname: z.string().nullable(),
  lastname: z.string().nullable(),
  avatar: z.string().nullable(),
  signature: z.string().nullable(),
  messengerId: z.string().nullable(),
  messengerUsername: z.string().nullable(),
  messengerFirstName: z.string().nullable(),
  messengerLastName: z.string().nullable(),
  messengerAvatarUrl: z.string().nullable(),
  messengerAuthDate: isoTime.nullable(),
  messengerVerified: z.boolean().nullable(),
  identities: z.array(linkedIdentity),
  smartAccounts: z.array(
    z.object({
      chainId: z.int(),
      address: z.string(),
      owner: z.string(),
      factory: z.string(),
      entryPoint: z.string(),
      deployed: z.boolean(),
    }),
  ),
  createdAt: isoTime,
  updatedAt: isoTime,
  /** Revision of the user's stream that this entity shows. */
  revision: z.int().nonnegative(),
});
export type UserDocument = z.infer<typeof userDocument>;
