import { id } from 'ethers';
import type { EventFragment } from '../../../schemas/events/watch-events.ts';
import { signatureOf } from '../domain/event-abi.ts';
import { bareSignature } from '../domain/event-signature.ts';

/** The first topic of an event's logs: keccak-256 of its signature; `null` for an anonymous event. */
export const topic0Of = (fragment: EventFragment): string | null =>
  fragment.anonymous ? null : id(bareSignature(signatureOf(fragment)));
