import type { EventDefinition } from './event.ts';
import { appEvents } from './app-events.ts';
import { bundlerEvents } from './bundler-events.ts';
import {
  asideEvents,
  chainAcceptanceEvents,
  chainEvents,
  chainProgressEvents,
  chainVerificationEvents,
  followerEvents,
} from './chain-events.ts';
import { challengeEvents } from './challenge-events.ts';
import { entityEvents } from './entity-events.ts';
import { executorEvents } from './executor-events.ts';
import { identityEvents } from './identity-events.ts';
import { nonceEvents } from './nonce-events.ts';
import { onchainEvents } from './onchain-events.ts';
import { otpEvents } from './otp-events.ts';
import { quotaEvents } from './quota-events.ts';
import { requestEvents, signatureEvents } from './request-events.ts';
import { sessionEvents } from './session-events.ts';
import { sponsorshipEvents } from './sponsorship-events.ts';
import { stateEvents } from './state-events.ts';
import { transactionEvents } from './transaction-events.ts';
import { userEvents } from './user-events.ts';
import { vaultEvents } from './vault-events.ts';
import { watchEvents } from './watch-events.ts';

/** Every stored event, by type. */
export const eventCatalogue = {
  ...appEvents,
  ...identityEvents,
  ...userEvents,
  ...sessionEvents,
  ...challengeEvents,
  ...stateEvents,
  ...otpEvents,
  ...requestEvents,
  ...signatureEvents,
  ...onchainEvents,
  ...nonceEvents,
  ...transactionEvents,
  ...sponsorshipEvents,
  ...executorEvents,
  ...bundlerEvents,
  ...entityEvents,
  ...quotaEvents,
  ...watchEvents,
  ...chainEvents,
  ...followerEvents,
  ...chainProgressEvents,
  ...asideEvents,
  ...chainVerificationEvents,
  ...chainAcceptanceEvents,
  ...vaultEvents,
} satisfies Record<string, EventDefinition>;
export type EventType = keyof typeof eventCatalogue;
