import { z } from 'zod';
import { unixMs } from '../../values.ts';

/** The answer of every login and refresh: exactly these five members. */
export const session = z.object({
  refreshToken: z.string(),
  refreshTokenExpire: unixMs,
  accessToken: z.string(),
  accessTokenExpire: unixMs,
  userId: z.string(),
});
export type Session = z.infer<typeof session>;
