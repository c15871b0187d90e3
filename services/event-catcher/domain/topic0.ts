import type { EventFragment } from '../../../schemas/events/watch-events.ts';
import { bareSignature, topicOfSignature } from '../../../shared/chain/event-signature.ts';
import { signatureOf } from './event-abi.ts';

/** Returns the first topic of an event's logs, keccak-256 of its signature; `null` for an anonymous event. */
export const topic0Of = (fragment: EventFragment): string | null =>
  fragment.anonymous ? null : topicOfSignature(bareSignature(signatureOf(fragment)));
