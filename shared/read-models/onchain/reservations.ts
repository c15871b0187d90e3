import { z } from 'zod';
import {
  sponsorshipEvents,
  sponsorshipStream,
  type SponsorshipEvent,
} from '../../../schemas/events/onchain/sponsorship-events.ts';
import { address, blockNumber, chainId, hash, isoTime, uint } from '../../../schemas/values.ts';
import { readModel } from '../read-model.ts';

const reservationDocument = z.object({
  id: z.string(),
  stream: z.string(),
  appId: z.string(),
  day: z.string(),
  userId: z.string(),
  chainId,
  sender: address,
  nonce: uint,
  /** Maximum over the signatures that share the reservation. */
  maxCostWei: uint,
  /** In the order of signing. */
  userOpHashes: z.array(hash),
  /** Latest of the signatures that share the reservation. */
  validUntil: isoTime,
  /** The head of the chain at the earliest of these signatures. */
  headBlock: blockNumber,
  state: z.enum(['reserved', 'settled', 'released']),
  /** The actual cost, the block that includes the operation, and which operation it is; `null` until settled. */
  costWei: uint.nullable(),
  blockHash: hash.nullable(),
  blockNumber: blockNumber.nullable(),
  settledBy: hash.nullable(),
});
export type ReservationDocument = z.infer<typeof reservationDocument>;

/** What the paymaster may have to pay, and has paid: one document per sender and nonce, app and day. */
export const reservationsModel = readModel({
  name: 'reservations-v1',
  collections: {
    reservation: {
      name: 'reservations-v1',
      document: reservationDocument,
      indexes: [['chainId', 'state', 'blockNumber']],
    },
  },
  events: sponsorshipEvents,
  touches: (event) => ({ reservation: reservationIdOf(event) }),
  evolve: ({ reservation }, event) => ({ reservation: changed(reservation, event, event) }),
});

const changed = (
  before: ReservationDocument | undefined,
  { type, data }: SponsorshipEvent,
  { stream }: { stream: string },
): ReservationDocument | undefined => {
  if (type === 'SponsorshipReserved') return withSignature(before ?? newReservation(stream, data), data);
  if (!before) return undefined;
  if (type === 'SponsorshipReleased') return { ...before, state: 'released', ...NOT_SETTLED };
  const { costWei, blockHash, blockNumber, userOpHash } = data;
  return { ...before, state: 'settled', costWei, blockHash, blockNumber, settledBy: userOpHash };
};

type Reserved = z.infer<typeof sponsorshipEvents.SponsorshipReserved.data>;

const NOT_SETTLED = { costWei: null, blockHash: null, blockNumber: null, settledBy: null };

/** Returns the id of the reservation that an event of a sponsorship is about. */
export const reservationIdOf = ({
  stream,
  data,
}: {
  stream: string;
  data: Pick<Reserved, 'chainId' | 'sender' | 'nonce'>;
}): string => `${stream}/${String(data.chainId)}/${data.sender.toLowerCase()}/${data.nonce}`;

const newReservation = (stream: string, data: Reserved): ReservationDocument => {
  const { appId, userId, chainId: chain, sender, nonce, maxCostWei, validUntil, headBlock } = data;
  const id = reservationIdOf({ stream, data });
  const day = stream.slice(sponsorshipStream(appId, '').length);
  const operation = { id, stream, appId, day, userId, chainId: chain, sender, nonce };
  return { ...operation, maxCostWei, validUntil, headBlock, userOpHashes: [], state: 'reserved', ...NOT_SETTLED };
};

const withSignature = (before: ReservationDocument, data: Reserved): ReservationDocument => {
  const { userOpHash, maxCostWei, validUntil, headBlock } = data;
  // A released operation can never be included, so it reserves nothing beside the new signature.
  const isLarger = before.state === 'released' || BigInt(maxCostWei) > BigInt(before.maxCostWei);
  // Once an operation of this nonce is settled, another one reserves nothing, unless the block leaves the chain.
  const staysSettled = before.state === 'settled' && before.settledBy !== userOpHash;
  return {
    ...before,
    maxCostWei: isLarger ? maxCostWei : before.maxCostWei,
    validUntil: validUntil > before.validUntil ? validUntil : before.validUntil,
    headBlock: Math.min(before.headBlock, headBlock),
    userOpHashes: [...new Set([...before.userOpHashes, userOpHash])],
    ...(!staysSettled && { state: 'reserved', ...NOT_SETTLED }),
  };
};
