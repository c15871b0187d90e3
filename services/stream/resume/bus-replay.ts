import { setImmediate as letOthersWork } from 'node:timers/promises';
import { topics } from '../../../schemas/topics.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { MessageBus } from '../../../shared/message-bus/message-bus.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { channelKey, channelName, type Channel } from '../domain/channel.ts';
import type { MessageReader } from '../domain/chain-message.ts';
import { placeOf, type Place } from '../domain/cursor.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { Passage } from '../domain/passage.ts';

const topic = topics.chainEvents;

/** How far the search for a position first looks back, and how much farther each time. */
const LOOK_BACK_FIRST_MS = 60_000;
const LOOK_BACK_FACTOR = 4;
/** A message may be published this long after its event was stored, and still be kept from then on. */
const RELAY_LAG_MAX_MS = 86_400_000;

interface BusReplayOptions {
  messageBus: MessageBus;
  reader: MessageReader;
  clock: Clock;
}

/**
 * Reads a channel's past from the topic. Relies on one thing: within a partition each position is first published after
 * all lower ones. So what follows a message that is not newer than a place is all that came after the place, repeats
 * included; the time of a message only says where to begin looking.
 */
export class BusReplay {
  constructor(private readonly options: BusReplayOptions) {}

  /** The channel's changes after a position, for ever: whoever reads on stops it. Ends at once when nothing is kept. */
  async *changesAfter(channel: Channel, position: Position, signal: AbortSignal): AsyncGenerator<Passage> {
    const { messageBus, reader } = this.options;
    const key = channelKey(channel);
    const partition = messageBus.partitionOf(topic, key);
    const start = await this.findStart(partition, position);
    if (start === undefined) return;
    const name = channelName(channel);
    let reached = position;
    for await (const { messages } of messageBus.consume(topic, new Map([[partition, start]]), signal)) {
      const deliveries: Delivery[] = [];
      for (const message of messages) {
        const found = reader.message(message);
        if (!found || found.position <= reached) continue;
        reached = found.position;
        if (found.key !== key) continue;
        const delivery = reader.delivery(found);
        if (delivery?.channel === name) deliveries.push(delivery);
      }
      yield { deliveries, end: placeOf(reached) };
      await letOthersWork();
    }
  }

  /**
   * The first position after which everything is kept, if something after `place` may have been deleted. The place of an
   * event is kept as long as its message; a mark as long as nothing newer can have been deleted.
   * @param newest where to go on when nothing is kept
   */
  async lostAfter(channel: Channel, place: Place, newest: Position): Promise<Position | undefined> {
    const { messageBus, clock } = this.options;
    const partition = messageBus.partitionOf(topic, channelKey(channel));
    const first = await this.firstKept(partition);
    if (first !== undefined && first <= place.position + 1) return undefined;
    const keptFrom = clock.now() - topic.retentionMs + RELAY_LAG_MAX_MS;
    if (place.markedAtMs !== undefined && place.markedAtMs > keptFrom) return undefined;
    return first === undefined ? newest : first - 1;
  }

  private async firstKept(partition: number): Promise<Position | undefined> {
    const { earliest, isEmpty } = await this.ends(partition);
    return isEmpty ? undefined : this.positionAt(partition, earliest);
  }

  /** An offset whose message is not newer than `position`, or else the first; `undefined`: nothing is kept. */
  private async findStart(partition: number, position: Position): Promise<string | undefined> {
    const { messageBus, clock } = this.options;
    const now = clock.now();
    const { earliest, latest, isEmpty } = await this.ends(partition);
    if (isEmpty) return undefined;
    for (let backMs = LOOK_BACK_FIRST_MS; backMs < now; backMs *= LOOK_BACK_FACTOR) {
      const offset = (await messageBus.offsets(topic, now - backMs)).get(partition) ?? earliest;
      if (BigInt(offset) >= BigInt(latest)) continue;
      if (BigInt(offset) <= BigInt(earliest)) break;
      if ((await this.positionAt(partition, offset)) <= position) return offset;
    }
    return earliest;
  }

  private async ends(partition: number): Promise<{ earliest: string; latest: string; isEmpty: boolean }> {
    const { messageBus } = this.options;
    const earliest = (await messageBus.offsets(topic, 'earliest')).get(partition) ?? '0';
    const latest = (await messageBus.offsets(topic, 'latest')).get(partition) ?? '0';
    return { earliest, latest, isEmpty: BigInt(latest) <= BigInt(earliest) };
  }

  /** Of the first message from an offset that has one. */
  private async positionAt(partition: number, offset: string): Promise<Position> {
    const { messageBus, reader } = this.options;
    const { signal } = new AbortController();
    for await (const { messages } of messageBus.consume(topic, new Map([[partition, offset]]), signal)) {
      for (const message of messages) {
        const found = reader.message(message);
        if (found) return found.position;
      }
    }
    throw new Error('the message bus ended');
  }
}
