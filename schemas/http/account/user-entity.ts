import { z } from 'zod';
import { ofProfile } from '../../profile.ts';
import { address, chainId, isoTime, loginMethod } from '../../values.ts';

export const linkedIdentity = z.object({ id: z.string(), method: loginMethod, label: z.string(), linkedAt: isoTime });

/** All of a user, as only the user is answered. */
export const userEntity = z.object({
  id: z.string(),
  ...ofProfile(() => z.string().nullable()),
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
      chainId,
      address,
      owner: address,
      factory: address,
      entryPoint: address,
      deployed: z.boolean(),
    }),
  ),
  createdAt: isoTime,
  updatedAt: isoTime,
  /** Revision of the user's stream that this entity shows. */
  revision: z.int().nonnegative(),
});
export type UserEntity = z.infer<typeof userEntity>;

/** What everybody may see of a user. */
export const publicUser = userEntity.pick({ id: true, username: true, avatar: true, createdAt: true });
export type PublicUser = z.infer<typeof publicUser>;

/** Either of them as one object, because clients are generated without members where an answer is one of two. */
export const user = z.object({ ...userEntity.partial().shape, ...publicUser.shape });

/** What a user changes: a member that is absent stays as it is. */
export const profile = z.object(
  ofProfile(({ charactersMax, isUrl }) => {
    const text = `${isUrl ? 'an https URL of at most' : 'at most'} ${charactersMax.toLocaleString('en')} characters`;
    return z.string().nullable().exactOptional().describe(`${text}; null or empty clears it`);
  }),
);
