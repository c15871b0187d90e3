import type { EventDefinition } from './event.ts';
import { appEvents } from './account/app-events.ts';
import { bundlerEvents } from './onchain/bundler-events.ts';
import {
  asideEvents,
  chainAcceptanceEvents,
  chainEvents,
  chainProgressEvents,
  chainVerificationEvents,
  followerEvents,
} from './event-catcher/chain-events.ts';
import { challengeEvents } from './account/challenge-events.ts';
import { entityEvents } from './onchain/entity-events.ts';
import { executorEvents } from './onchain/executor-events.ts';
import { identityEvents } from './account/identity-events.ts';
import { logEvents } from './account/log-events.ts';
import { nonceEvents } from './onchain/nonce-events.ts';
import { onchainEvents } from './onchain/onchain-events.ts';
import { otpEvents } from './account/otp-events.ts';
import { passkeyEvents } from './account/passkey-events.ts';
import { quotaEvents } from './event-catcher/quota-events.ts';
import { requestEvents, signatureEvents } from './request-events.ts';
import { sessionEvents } from './account/session-events.ts';
import { sponsorshipEvents } from './onchain/sponsorship-events.ts';
import { stateEvents } from './account/state-events.ts';
import { transactionEvents } from './onchain/transaction-events.ts';
import { userEvents } from './account/user-events.ts';
import { vaultEvents } from './vault-events.ts';
import { watchEvents } from './event-catcher/watch-events.ts';

/** Every stored event, by type. */
export const eventCatalogue = {
  ...appEvents,
  ...identityEvents,
  ...userEvents,
  ...sessionEvents,
  ...challengeEvents,
  ...stateEvents,
  ...otpEvents,
  ...passkeyEvents,
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
  ...logEvents,
} satisfies Record<string, EventDefinition>;
export type EventType = keyof typeof eventCatalogue;
