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
};
export type UserEvent = EventOf<typeof userEvents>;
