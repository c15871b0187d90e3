import type { EventPlace, Retention } from './event-store.ts';

/** Streams of which events are forgotten in time. Of every other stream nothing ever is. */
const FORGOTTEN_IN_TIME = /^(chain-\d+(-verified)?$|(executor|request|signature|challenge|otp|state)-)/;

/** What `request-…` and `signature-…` keep: longer than the 24 h of a key, and than a timestamp is accepted. */
export const keptForRepeats = { seconds: 25 * 3_600 } as const satisfies Retention;

export const isPermanent = (stream: string): boolean => !FORGOTTEN_IN_TIME.test(stream);

/** Returns where the event is, without what it says. */
export const placeOf = ({ id, stream, revision, position }: EventPlace): EventPlace => ({
  id,
  stream,
  revision,
  position,
});
