import { z } from 'zod';
import { appEvents } from '../../schemas/events/account/app-events.ts';
import { identityEvents } from '../../schemas/events/account/identity-events.ts';
import { logEvents } from '../../schemas/events/account/log-events.ts';
import { passkeyEvents } from '../../schemas/events/account/passkey-events.ts';
import { sessionEvents } from '../../schemas/events/account/session-events.ts';
import { userEvents } from '../../schemas/events/account/user-events.ts';
import { chainAcceptanceEvents } from '../../schemas/events/event-catcher/chain-events.ts';
import { quotaEvents } from '../../schemas/events/event-catcher/quota-events.ts';
import { watchEvents } from '../../schemas/events/event-catcher/watch-events.ts';
import { bundlerEvents } from '../../schemas/events/onchain/bundler-events.ts';
import { entityEvents } from '../../schemas/events/onchain/entity-events.ts';
import { nonceEvents } from '../../schemas/events/onchain/nonce-events.ts';
import { onchainEvents } from '../../schemas/events/onchain/onchain-events.ts';
import { sponsorshipEvents } from '../../schemas/events/onchain/sponsorship-events.ts';
import { transactionEvents } from '../../schemas/events/onchain/transaction-events.ts';
import { vaultEvents } from '../../schemas/events/vault-events.ts';
import { readModel } from './read-model.ts';

/** An id that a loop or a client uses again and again would make a document that grows without end. */
export const TRAIL_EVENTS_MAX = 1_001;

/** By correlation id: stream and revision of the first of its events, in the order of the store. */
const trailDocument = z.object({ events: z.array(z.tuple([z.string(), z.int()])) });

/**
 * Where the events of one request are. Has the events of streams that are kept for ever; not those of streams that
 * forget, which a later fold would not find any more, and not what is read from chains, which no request causes.
 */
export const trailsModel = readModel({
  name: 'trails-v1',
  collections: { trail: { name: 'trails-v1', document: trailDocument, indexes: [] } },
  events: {
    ...appEvents,
    ...identityEvents,
    ...userEvents,
    ...sessionEvents,
    ...passkeyEvents,
    ...onchainEvents,
    ...nonceEvents,
    ...transactionEvents,
    ...sponsorshipEvents,
    ...bundlerEvents,
    ...entityEvents,
    ...quotaEvents,
    ...watchEvents,
    ...chainAcceptanceEvents,
    ...vaultEvents,
    ...logEvents,
  },
  keepsSealed: true,
  touches: ({ metadata }) => ({ trail: metadata.correlationId }),
  evolve: ({ trail = { events: [] } }, { stream, revision }) => {
    const place: [string, number] = [stream, revision];
    return trail.events.length < TRAIL_EVENTS_MAX ? { trail: { events: [...trail.events, place] } } : {};
  },
});
