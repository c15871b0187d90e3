import { z } from 'zod';
import { isoTime, loginMethod } from '../values.ts';

/** Collection `sessions`, by session id: what every service asks before it believes an access token. */
export const sessionDocument = z.object({
  id: z.string(),
  userId: z.string(),
  appId: z.string(),
  method: loginMethod,
  device: z.string().nullable(),
  createdAt: isoTime,
  lastUsedAt: isoTime,
  revokedAt: isoTime.nullable(),
});
export type SessionDocument = z.infer<typeof sessionDocument>;
