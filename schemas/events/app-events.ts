import { z } from 'zod';
import { address } from '../values.ts';
import { event, type EventOf } from './event.ts';

export const signatureScheme = z.enum(['v1', 'v2']);
export type SignatureScheme = z.infer<typeof signatureScheme>;

export const appStream = (appId: string): string => `app-${appId}`;

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
  /** The key that it replaces stays valid beside it; one from before that does not. */
  AppKeyRotated: event(1, z.object({ appId: z.string(), signer: address })),
  AppOriginAllowed: event(1, z.object({ appId: z.string(), origin: z.string() })),
  AppRedirectAllowed: event(1, z.object({ appId: z.string(), redirectUri: z.string() })),
  /** It may log in messenger users on the word of its own bot. */
  AppBotAllowed: event(1, z.object({ appId: z.string() })),
  /** The last event of an app. */
  AppRevoked: event(1, z.object({ appId: z.string() })),
};
export type AppEvent = EventOf<typeof appEvents>;
