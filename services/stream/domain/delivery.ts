import type { ObservedRecord } from '../../../schemas/events/chain-events.ts';
import type { EventRecord } from '../../../schemas/http/event-record.ts';
import type { Change, StreamEvent } from '../../../schemas/socket/stream-messages.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { channelName, type Channel } from './channel.ts';
import { placeOf, type Cursors, type Place } from './cursor.ts';

/** One change of one channel, written once for all its subscribers. */
export interface Delivery {
  channel: string;
  position: Position;
  blockNumber: number;
  /** The payload of `event`, as JSON. */
  json: string;
}

/** Consecutive deliveries of a channel. */
export interface Page {
  deliveries: Delivery[];
  /** The place at the end: everything before it is in this page or in an earlier one. */
  end: Place;
}

/** A change of the channel at a position of the event store. */
export interface RecordChange {
  position: Position;
  change: Change;
  record: ObservedRecord;
}

export const toDelivery = (
  cursors: Cursors,
  channel: Channel,
  { position, change, record }: RecordChange,
): Delivery => {
  const name = channelName(channel);
  const event: EventRecord = { ...record, Status: channel.finality === 'finalized' ? 'finalized' : change };
  const payload: StreamEvent = { channel: name, cursor: cursors.write(name, placeOf(position)), change, event };
  return { channel: name, position, blockNumber: record.BlockNumber, json: JSON.stringify(payload) };
};
