import type { ObservedRecord } from '../../../schemas/events/chain-events.ts';
import type { EventRecord } from '../../../schemas/http/event-record.ts';
import type { Change, StreamEvent } from '../../../schemas/socket/stream-messages.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { channelName, type Channel } from './channel.ts';
import { placeOf, type Cursors } from './cursor.ts';

/** One change of one channel, written once for all its subscribers. */
export interface Delivery {
  channel: string;
  position: Position;
  blockNumber: number;
  /** The payload of `event`, as JSON. */
  json: string;
}

/** A change of the channel at a position of the event store. */
export interface Happening {
  position: Position;
  change: Change;
  record: ObservedRecord;
}

export const toDelivery = (cursors: Cursors, channel: Channel, { position, change, record }: Happening): Delivery => {
  const name = channelName(channel);
  const event: EventRecord = { ...record, Status: channel.finality === 'finalized' ? 'finalized' : change };
  const payload: StreamEvent = { channel: name, cursor: cursors.write(name, placeOf(position)), change, event };
  return { channel: name, position, blockNumber: record.BlockNumber, json: JSON.stringify(payload) };
};
