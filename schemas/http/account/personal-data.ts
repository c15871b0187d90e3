import { z } from 'zod';
import { anyJson } from '../../json.ts';
import { address, blockNumber, chainId, hash, isoTime, uint } from '../../values.ts';
import { watchedContract } from '../event-catcher/watched-contract.ts';
import { listedTransaction } from '../onchain/onchain-routes.ts';
import { listedSession } from './session-routes.ts';
import { linkedIdentity, userEntity } from './user-entity.ts';

const recipient = z.object({
  app: z.string(),
  since: isoTime.describe('when its first session of the user began'),
  last: isoTime.describe('when one of its sessions was last used'),
});
export type HeldRecipient = z.infer<typeof recipient>;

const heldBecause = {
  purpose: z.string().describe('why it is held'),
  retention: z.string().describe('until when it is held'),
  source: z.string().describe('where it came from'),
  recipients: z
    .array(recipient)
    .describe('the apps with a session of the user that were or could be answered this section'),
};

const app = z.string().describe('the id of an app');

const heldIdentity = linkedIdentity.extend({
  passkey: z
    .object({ credentialId: z.string(), publicKey: z.string().describe('a COSE key, in base64url') })
    .nullable()
    .describe('null unless it is a passkey'),
});
const heldSession = listedSession.extend({ lastUsedAt: isoTime, endedAt: isoTime.nullable() });
export const heldRegistration = watchedContract.omit({ state: true }).extend({
  app: app.nullable().describe('in which it was registered; null: by the wallet itself'),
  registeredAt: isoTime,
  isClaimed: z.boolean().describe('false once the registration was removed'),
});
export const heldSponsorship = z.object({
  app: app.describe('the app that pays'),
  day: z.string().describe('UTC; the day for which it counts'),
  chainId,
  sender: address,
  nonce: uint,
  userOpHashes: z.array(hash).describe('in the order of signing'),
  state: z.enum(['reserved', 'settled', 'released']),
  maxCostWei: uint,
  validUntil: isoTime,
  costWei: uint.nullable().describe('null until it is settled, as the members below'),
  blockHash: hash.nullable(),
  blockNumber: blockNumber.nullable(),
});
const sentMessage = z.object({
  kind: z.literal('one-time-password'),
  method: z.enum(['email', 'messenger']),
  identity: z.string().describe('the id of the identity that it was sent to'),
  time: isoTime,
  app: app.describe('the app that asked for it'),
});

const section = <Name extends string, Data extends z.ZodType>(name: Name, data: Data) =>
  z.object({ name: z.literal(name), ...heldBecause, data });

/** A section with its data, of which each has another form. */
export const heldSection = z.discriminatedUnion('name', [
  section('profile', userEntity.omit({ identities: true })),
  section('identities', z.array(heldIdentity)),
  section('sessions', z.array(heldSession)),
  section('transactions', z.array(listedTransaction)),
  section('registrations', z.array(heldRegistration)),
  section('sponsorship', z.array(heldSponsorship)),
  section('messages', z.array(sentMessage)),
]);
export type HeldSection = z.infer<typeof heldSection>;

/**
 * What is held about a person: GDPR Art. 15 and 20. Clients are generated without members where a member is one of several
 * objects, so the data of its sections is any JSON here; `heldSection` has its forms.
 */
export const personalData = z.object({
  subject: z.string().describe('the id of the user'),
  generatedAt: isoTime,
  position: z
    .string()
    .describe('an x-position, for asOf: everything up to it is told; what is later may be, where it came meanwhile'),
  sections: z.array(
    z.object({
      name: z.enum([
        ...(['profile', 'identities', 'sessions', 'transactions', 'registrations', 'sponsorship'] as const),
        'messages',
      ]),
      ...heldBecause,
      data: anyJson.describe(
        'profile: the user without identities. The others are lists: identities with their labels, and the credentialId and ' +
          'publicKey of a passkey; sessions as they are listed, with endedAt; transactions as they are listed, oldest first; ' +
          'registrations (contracts as they are listed, with app, registeredAt, isClaimed), oldest first; sponsorship (app, day, ' +
          'chainId, sender, nonce, userOpHashes, state, maxCostWei, validUntil, costWei, blockHash, blockNumber), oldest first; ' +
          'messages (kind, method, identity, time, app)',
      ),
    }),
  ),
  history: z.object({
    items: z.int().nonnegative().describe('how many events are about the user'),
    url: z.string().describe('all of them, with what proves them'),
  }),
});
export type PersonalData = z.infer<typeof personalData>;
