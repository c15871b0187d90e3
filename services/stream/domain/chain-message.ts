import { observedRecord } from '../../../schemas/events/chain-events.ts';
import type { Change } from '../../../schemas/socket/stream-messages.ts';
import { watchIdOfRecord } from '../../../shared/chain/watch-id.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Cursors } from './cursor.ts';
import { toDelivery, type Delivery } from './delivery.ts';

const changes: Partial<Record<string, Change>> = {
  'annals.ChainEventObserved.v1': 'observed',
  'annals.ChainEventReverted.v1': 'reverted',
};

interface TopicMessage {
  key: string;
  headers: Readonly<Record<string, string>>;
  value: string | null;
}

/** A message of the topic of chain events. Its value is parsed at the first call of `delivery`, and only once. */
export class ChainMessage {
  /** Length of the value: an estimate of the memory that the message needs. */
  readonly characters: number;
  private decoded: Delivery | undefined;

  private constructor(
    readonly key: string,
    readonly position: Position,
    /** When its event was stored, as is signed; the time of the message itself is not. Unix milliseconds. */
    readonly storedAtMs: number,
    private readonly change: Change,
    private value: string,
  ) {
    this.characters = value.length;
  }

  /** Returns `undefined` for a message of another type. @throws when the header `ce_position` is not a position */
  static of({ key, value, headers }: TopicMessage): ChainMessage | undefined {
    const change = changes[headers['ce_type'] ?? ''];
    if (!change || value === null) return undefined;
    const position = Number(headers['ce_position']);
    if (!Number.isSafeInteger(position) || position < 1) throw new Error('ce_position is not a position');
    return new ChainMessage(key, position, Date.parse(headers['ce_time'] ?? ''), change, value);
  }

  /** Returns the delivery for the event's channel with finality `latest`. @throws when the value is not a record */
  delivery(cursors: Cursors): Delivery {
    return (this.decoded ??= this.decode(cursors));
  }

  private decode(cursors: Cursors): Delivery {
    const record = observedRecord.parse(JSON.parse(this.value));
    const { ChainId: chainId, ContractAddress: contractAddress, EventSignature: eventSignature } = record;
    const watchId = watchIdOfRecord(record);
    const channel = { watchId, chainId, contractAddress, eventSignature, finality: 'latest' } as const;
    const { position, change } = this;
    this.value = '';
    return toDelivery(cursors, channel, { position, change, record });
  }
}

/** Reads messages. One that cannot be read now never can be: it is reported, and the result is `undefined`. */
export class MessageReader {
  constructor(
    private readonly cursors: Cursors,
    private readonly report: (error: unknown, key: string) => void,
  ) {}

  message(message: TopicMessage): ChainMessage | undefined {
    return this.readOrReport(message.key, () => ChainMessage.of(message));
  }

  delivery(message: ChainMessage): Delivery | undefined {
    return this.readOrReport(message.key, () => message.delivery(this.cursors));
  }

  private readOrReport<Found>(key: string, read: () => Found): Found | undefined {
    try {
      return read();
    } catch (error) {
      this.report(error, key);
      return undefined;
    }
  }
}
