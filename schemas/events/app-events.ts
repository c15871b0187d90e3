import { z } from 'zod';
import { address } from '../values.ts';
import { event, type EventOf } from './event.ts';

export const signatureScheme = z.enum(['v1', 'v2']);
export type SignatureScheme = z.infer<typeof signatureScheme>;

/** Stream `app-<appId>`. */
export const appEvents = {
  AppRegistered: event(
    1,
    z.object({
      appId: z.string(),
      name: z.string(),
      apiKey: z.string(),
      /** Address of the signing key. The key itself is shown once and never stored. */
      signer: address,
      origins: z.array(z.string()),
      redirectUris: z.array(z.string()),
      scheme: signatureScheme,
    }),
  ),
};
export type AppEvent = EventOf<typeof appEvents>;
