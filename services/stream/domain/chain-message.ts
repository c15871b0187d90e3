import { observedRecord } from '../../../schemas/events/chain-events.ts';
import type { Change } from '../../../schemas/socket/stream-messages.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Cursors } from './cursor.ts';
import { toDelivery, type Delivery } from './delivery.ts';

const changes: Partial<Record<string, Change>> = {
  'annals.ChainEventObserved.v1': 'observed',
  'annals.ChainEventReverted.v1': 'reverted',
};

/** A message as the topic has it. */
interface Published {
  key: string;
  headers: Readonly<Record<string, string>>;
  value: string | null;
}

/** A message of the chain events' topic. What is inside is looked at when somebody wants to know, and then only once. */
export class ChainMessage {
  /** About what it takes to remember it. */
  readonly characters: number;
  private decoded: Delivery | undefined;

  private constructor(
    readonly key: string,
    readonly position: Position,
    private readonly change: Change,
    private value: string,
  ) {
    this.characters = value.length;
  }

  /** `undefined`: of another type. @throws when it does not say its position */
  static of({ key, value, headers }: Published): ChainMessage | undefined {
    const change = changes[headers['ce_type'] ?? ''];
    if (!change || value === null) return undefined;
    const position = Number(headers['ce_position']);
    if (!Number.isSafeInteger(position) || position < 1) throw new Error('ce_position is not a position');
    return new ChainMessage(key, position, change, value);
  }

  /** For the channel of its event with finality `latest`. @throws when the value is not an event record */
  delivery(cursors: Cursors): Delivery {
    return (this.decoded ??= this.decode(cursors));
  }

  private decode(cursors: Cursors): Delivery {
    const record = observedRecord.parse(JSON.parse(this.value));
    const { ChainId: chainId, ContractAddress: contractAddress, EventSignature: eventSignature } = record;
    const channel = { chainId, contractAddress, eventSignature, finality: 'latest' } as const;
    const { position, change } = this;
    this.value = '';
    return toDelivery(cursors, channel, { position, change, record });
  }
}

/** Reads messages; one that cannot be read is reported and passed over, for it will never be readable. */
export class MessageReader {
  constructor(
    private readonly cursors: Cursors,
    private readonly report: (error: unknown, key: string) => void,
  ) {}

  message(message: Published): ChainMessage | undefined {
    return this.unlessUnreadable(message.key, () => ChainMessage.of(message));
  }

  delivery(message: ChainMessage): Delivery | undefined {
    return this.unlessUnreadable(message.key, () => message.delivery(this.cursors));
  }

  private unlessUnreadable<Found>(key: string, read: () => Found): Found | undefined {
    try {
      return read();
    } catch (error) {
      this.report(error, key);
      return undefined;
    }
  }
}
