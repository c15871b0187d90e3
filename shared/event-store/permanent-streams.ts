import type { EventPlace, Retention } from './event-store.ts';

/** Streams whose events are deleted in time. Every other stream is permanent: nothing is ever deleted from it. */
const FORGOTTEN_IN_TIME = /^(chain-\d+(-verified)?$|(executor|request|signature|challenge|otp|state)-)/;

/**
 * Retention of `request-…` and `signature-…`: longer than the 24 h of an idempotency key, and than a timestamp is
 * accepted.
 */
export const keptForRepeats = { seconds: 25 * 3_600 } as const satisfies Retention;

export const isPermanent = (stream: string): boolean => !FORGOTTEN_IN_TIME.test(stream);

/** Streams whose events are no leaves of the log: those that forget, those of counters, and the helpers of a chain's. */
const WITHOUT_LEAVES =
  /^((challenge|otp|state|request|signature|executor|nonces|quota)-|chain-\d+(-(aside|verified|accepted))?$)/;

/** Whether the events of a stream last, and so are leaves of the log. */
export const isLasting = (stream: string): boolean => !WITHOUT_LEAVES.test(stream);

/** Returns the identity of an event without its content. */
export const placeOf = ({ id, stream, revision, position }: EventPlace): EventPlace => ({
  id,
  stream,
  revision,
  position,
});
