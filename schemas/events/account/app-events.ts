import { z } from 'zod';
import { address, chainId, uint } from '../../values.ts';
import { event, type EventOf } from '../event.ts';

export const signatureScheme = z.enum(['v1', 'v2']);
export type SignatureScheme = z.infer<typeof signatureScheme>;

/** What an app pays for on one chain. Amounts are wei; a limit that is `null` is not set. */
export const sponsorshipPolicy = z.object({
  /** Of what is reserved and settled in one UTC day: for all users together, and for each. */
  dayWei: uint.nullable(),
  userDayWei: uint.nullable(),
  /** The most that one operation may cost. */
  operationWei: uint.nullable(),
  /** Which contracts may be called, and with which first four bytes of data (`0x`: none; `null`: any). Empty: any contract. */
  allow: z.array(
    z.object({ target: address, selectors: z.array(z.string().regex(/^0x(?:[0-9a-f]{8})?$/)).nullable() }),
  ),
  /** Whether sessions of other apps may use it. */
  anySession: z.boolean(),
});
export type SponsorshipPolicy = z.infer<typeof sponsorshipPolicy>;

export const appStream = (appId: string): string => `app-${appId}`;

/** Stream `app-<appId>`. */
export const appEvents = {
  AppRegistered: event(
    2,
    z.object({
      appId: z.string(),
      name: z.string(),
      apiKey: z.string(),
      /** Address of the signing key. The key itself is shown once and never stored. */
      signer: address,
      origins: z.array(z.string()),
      redirectUris: z.array(z.string()),
      scheme: signatureScheme,
      /** It is somebody else's: its sessions may do less. */
      isThirdParty: z.boolean(),
    }),
    // Version 1 said it of third parties' apps alone.
    { upcasts: { 1: (data) => ({ isThirdParty: false, ...data }) } },
  ),
  /** The key that it replaces stays valid beside it; one from before that does not. */
  AppKeyRotated: event(1, z.object({ appId: z.string(), signer: address })),
  /** Of a key by which the app acts for itself. The key is shown once and never stored. */
  AppServerKeyCreated: event(1, z.object({ appId: z.string(), signer: address })),
  /** Tokens that the key signed for end with it. */
  AppServerKeyRevoked: event(1, z.object({ appId: z.string(), signer: address })),
  AppOriginAllowed: event(1, z.object({ appId: z.string(), origin: z.string() })),
  AppRedirectAllowed: event(1, z.object({ appId: z.string(), redirectUri: z.string() })),
  /** Its sessions may do everything from now on; or what those of a third party's app may. */
  AppTrusted: event(1, z.object({ appId: z.string() })),
  AppDistrusted: event(1, z.object({ appId: z.string() })),
  /** It may log in messenger users on the word of its own bot. */
  AppBotAllowed: event(1, z.object({ appId: z.string() })),
  /** The hostname for which its passkeys are made, of which each of its pages' hostnames must be part. */
  AppRpIdSet: event(1, z.object({ appId: z.string(), rpId: z.string() })),
  /** `null` removes the policy. */
  AppPolicyChanged: event(1, z.object({ appId: z.string(), chainId, policy: sponsorshipPolicy.nullable() })),
  /** The last event of an app. */
  AppRevoked: event(1, z.object({ appId: z.string() })),
};
export type AppEvent = EventOf<typeof appEvents>;
