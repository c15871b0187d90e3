import { z } from 'zod';
import { ofProfile } from '../profile.ts';
import { loginMethod } from '../values.ts';
import { event, type EventOf } from './event.ts';

/** An absent member was not changed; `null` cleared it. */
export const profileChanges = z.object(ofProfile(() => z.string().nullable().exactOptional()));
export type ProfileChanges = z.infer<typeof profileChanges>;

/** Stream `user-<userId>`. */
export const userEvents = {
  UserRegistered: event(1, z.object({ userId: z.string() })),
  IdentityLinked: event(
    1,
    z.object({ userId: z.string(), identityId: z.string(), method: loginMethod, label: z.string() }),
  ),
  IdentityUnlinked: event(
    1,
    z.object({
      userId: z.string(),
      identityId: z.string(),
      method: loginMethod,
      /** Which claim of the identity, counted from 1, is void from now on, although it may not be released yet. */
      claim: z.int().positive(),
    }),
  ),
  UserLoggedIn: event(
    1,
    z.object({
      userId: z.string(),
      identityId: z.string(),
      method: loginMethod,
      appId: z.string(),
      sessionId: z.string(),
    }),
  ),
  ProfileUpdated: event(1, z.object({ userId: z.string(), changes: profileChanges })),
  /** The last event of a user. */
  UserErased: event(1, z.object({ userId: z.string() })),
};
export type UserEvent = EventOf<typeof userEvents>;
