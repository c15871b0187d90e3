import type { ObservedRecord } from '../../../schemas/events/event-catcher/chain-events.ts';
import type { EventRecord, RecordStatus } from '../../../schemas/http/event-catcher/event-record.ts';
import type { Change, StreamEvent } from '../../../schemas/socket/stream-messages.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { channelName, cursorScope, type Channel } from './channel.ts';
import { resumePointAfter, type Cursors, type ResumePoint } from '../../../shared/keys/stream-cursors.ts';

/** One change of one channel, serialised once for all subscribers. */
export interface Delivery {
  channel: string;
  position: Position;
  blockNumber: number;
  cursor: string;
  /** The payload of the message `event`, as JSON. */
  json: string;
}

/** Consecutive deliveries of a channel. */
export interface Page {
  deliveries: Delivery[];
  /** Where to resume after this page: every earlier change is in this page or in a previous one. */
  end: ResumePoint;
  /** Set where the deliveries were read from the stream of their contract, because the topic no longer has them. */
  source?: 'event_store';
}

/** A change of a record, with the position of its event in the event store. */
export interface RecordChange {
  position: Position;
  change: Change;
  /** Default: the status that the change leads to. */
  status?: RecordStatus;
  record: ObservedRecord;
}

export const toDelivery = (
  cursors: Cursors,
  channel: Channel,
  { position, change, status = change, record }: RecordChange,
): Delivery => {
  const name = channelName(channel);
  const event: EventRecord = { ...record, WatchId: channel.watchId, Status: status };
  const cursor = cursors.write(cursorScope(channel), resumePointAfter(position));
  const payload: StreamEvent = { channel: name, cursor, change, event };
  return { channel: name, position, blockNumber: record.BlockNumber, cursor, json: JSON.stringify(payload) };
};
