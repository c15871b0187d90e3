import { z } from 'zod';
import { address, blockNumber, chainId, hash, isoTime, uint } from '../../values.ts';
import { event, type EventOf, type Held } from '../event.ts';
import { lasting } from '../held.ts';

const sponsoredOperation: Held = {
  purpose: 'to pay for operations of the user within the policy of an app, and to account for what was paid',
  retention: lasting('what was reserved and paid for which account'),
};

/** @param day UTC, `2026-01-31` */
export const sponsorshipStream = (appId: string, day: string): string => `sponsorship-${appId}-${day}`;

/** Stream `sponsorship-<appId>-<day>`: what the paymaster may have to pay, and has paid, for an app on one UTC day. */
export const sponsorshipEvents = {
  /** Further signatures for the same sender and nonce share one reservation, the largest, until the latest `validUntil`. */
  SponsorshipReserved: event(
    1,
    z.object({
      appId: z.string(),
      /** `null` of an operation that was not submitted here. */
      transactionId: z.string().nullable(),
      userOpHash: hash,
      chainId,
      sender: address,
      nonce: uint,
      userId: z.string(),
      maxCostWei: uint,
      validUntil: isoTime,
      /** The head of the chain when it was signed. */
      headBlock: blockNumber,
      /** An operation of the same user whose cost is set aside no more: it was signed over `/rpc` and not sent. */
      inPlaceOf: z.object({ sender: address, nonce: uint }).exactOptional(),
    }),
    { held: sponsoredOperation },
  ),
  SponsorshipSettled: event(
    1,
    z.object({
      appId: z.string(),
      userOpHash: hash,
      chainId,
      sender: address,
      nonce: uint,
      costWei: uint,
      blockHash: hash,
      blockNumber,
    }),
  ),
  SponsorshipReleased: event(
    1,
    z.object({ appId: z.string(), userOpHash: hash, chainId, sender: address, nonce: uint, reason: z.string() }),
  ),
};
export type SponsorshipEvent = EventOf<typeof sponsorshipEvents>;
