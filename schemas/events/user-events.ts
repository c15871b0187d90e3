import { z } from 'zod';
import { loginMethod } from '../values.ts';
import { event, type EventOf } from './event.ts';

/** A member that is absent was not touched; `null` cleared it. */
export const profileChanges = z.object({
  username: z.string().nullable().optional(),
  firstname: z.string().nullable().optional(),
  lastname: z.string().nullable().optional(),
  avatar: z.string().nullable().optional(),
  signature: z.string().nullable().optional(),
});
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
