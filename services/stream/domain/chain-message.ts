import { observedRecord } from '../../../schemas/events/event-catcher/chain-events.ts';
import type { Change } from '../../../schemas/socket/stream-messages.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Cursors } from '../../../shared/keys/stream-cursors.ts';
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

/** A message of the topic of chain events. The first call of `delivery` parses its value. */
export class ChainMessage {
  /** Length of the value: an estimate of the memory that the message needs. */
  readonly characters: number;
  private decoded: Delivery | undefined;

  private constructor(
    readonly key: string,
    readonly position: Position,
    /** When its event was stored, in Unix milliseconds. Signed, unlike the time of the message itself. */
    readonly storedAtMs: number,
    private readonly change: Change,
    private value: string,
  ) {
    this.characters = value.length;
  }

  /** Returns `undefined` for a message of another type. @throws if the header `ce_position` is not a position */
  static parse({ key, value, headers }: TopicMessage): ChainMessage | undefined {
    const change = changes[headers['ce_type'] ?? ''];
    if (!change || value === null) return undefined;
    const position = Number(headers['ce_position']);
    if (!Number.isSafeInteger(position) || position < 1) throw new Error('ce_position is not a position');
    return new ChainMessage(key, position, Date.parse(headers['ce_time'] ?? ''), change, value);
  }

  /** Returns the delivery for the event's channel with finality `latest`. @throws if the value is not a record */
  delivery(cursors: Cursors): Delivery {
    return (this.decoded ??= this.decode(cursors));
  }

  private decode(cursors: Cursors): Delivery {
    const record = observedRecord.parse(JSON.parse(this.value));
    const channel = {
      watchId: record.WatchId,
      chainId: record.ChainId,
      contractAddress: record.ContractAddress,
      eventSignature: record.EventSignature,
      finality: 'latest',
    } as const;
    const { position, change } = this;
    this.value = '';
    return toDelivery(cursors, channel, { position, change, record });
  }
}

/** Reads messages. Reports an invalid message, which will never be readable, and returns `undefined`. */
export class MessageReader {
  constructor(
    private readonly cursors: Cursors,
    private readonly report: (error: unknown, key: string) => void,
  ) {}

  message(message: TopicMessage): ChainMessage | undefined {
    return this.readOrReport(message.key, () => ChainMessage.parse(message));
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
