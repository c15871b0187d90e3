import type { ObservedRecord } from '../../../schemas/events/chain-events.ts';
import type { EventRecord, RecordStatus } from '../../../schemas/http/event-record.ts';
import type { Change, StreamEvent } from '../../../schemas/socket/stream-messages.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { channelName, cursorScope, type Channel } from './channel.ts';
import { resumePointAfter, type Cursors, type ResumePoint } from './cursor.ts';

/** One change of one channel, serialized once for all subscribers. */
export interface Delivery {
  channel: string;
  position: Position;
  blockNumber: number;
  /** The payload of the Socket.IO event `event`, as JSON. */
  json: string;
}

/** Consecutive deliveries of a channel. */
export interface Page {
  deliveries: Delivery[];
  /** Where to resume after this page: every change before it is in this page or in an earlier one. */
  end: ResumePoint;
}

/** A change of a record, with the position of its event in the event store. */
export interface RecordChange {
  position: Position;
  change: Change;
  /** Default: what the change made of it. */
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
  const payload: StreamEvent = {
    channel: name,
    cursor: cursors.write(cursorScope(channel), resumePointAfter(position)),
    change,
    event,
  };
  return { channel: name, position, blockNumber: record.BlockNumber, json: JSON.stringify(payload) };
};
