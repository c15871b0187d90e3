import { z } from 'zod';
import { eventOrigin, observedRecord } from '../../events/event-catcher/chain-events.ts';
import { anyJson } from '../../json.ts';

/** A record whose block comes back after a reorganisation is `observed` again. */
export const recordStatus = z.enum(['observed', 'finalized', 'reverted']);
export type RecordStatus = z.infer<typeof recordStatus>;

/** The record in the answer of a query and in the stream. */
export const eventRecord = observedRecord.omit({ Origin: true }).extend({
  WatchId: z.string(),
  Data: z.record(z.string(), anyJson).describe(observedRecord.shape.Data.description ?? ''),
  Status: recordStatus,
  Origin: eventOrigin,
});
export type EventRecord = z.infer<typeof eventRecord>;
