import { setImmediate as letOthersWork } from 'node:timers/promises';
import { topics } from '../../../schemas/topics.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { MessageBus } from '../../../shared/message-bus/message-bus.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { channelKey, channelName, type Channel } from '../domain/channel.ts';
import type { MessageReader } from '../domain/chain-message.ts';
import { placeOf, type Place } from '../domain/cursor.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { Page } from '../domain/delivery.ts';

const topic = topics.chainEvents;

/** How far the search for a position first looks back, and how much farther each time. */
const LOOK_BACK_FIRST_MS = 60_000;
const LOOK_BACK_FACTOR = 4;
/** To read a message that is there. */
const POSITION_WITHIN_MS = 5_000;
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
  async *changesAfter(channel: Channel, position: Position, signal: AbortSignal): AsyncGenerator<Page> {
    const { messageBus, reader } = this.options;
    const key = channelKey(channel);
    const partition = messageBus.partitionOf(topic, key);
    const start = await this.findStart(partition, position, signal);
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
  async lostAfter(
    channel: Channel,
    place: Place,
    newest: Position,
    signal: AbortSignal,
  ): Promise<Position | undefined> {
    const { messageBus, clock } = this.options;
    const partition = messageBus.partitionOf(topic, channelKey(channel));
    const first = await this.firstKept(partition, signal);
    if (first !== undefined && first <= place.position + 1) return undefined;
    const keptFrom = clock.now() - topic.retentionMs + RELAY_LAG_MAX_MS;
    if (place.markedAtMs !== undefined && place.markedAtMs > keptFrom) return undefined;
    return first === undefined ? newest : first - 1;
  }

  private async firstKept(partition: number, signal: AbortSignal): Promise<Position | undefined> {
    const { earliest, isEmpty } = await this.ends(partition);
    return isEmpty ? undefined : this.positionAt(partition, earliest, signal);
  }

  /** An offset whose message is not newer than `position`, or else the first; `undefined`: nothing is kept. */
  private async findStart(partition: number, position: Position, signal: AbortSignal): Promise<string | undefined> {
    const { messageBus, clock } = this.options;
    const now = clock.now();
    const { earliest, latest, isEmpty } = await this.ends(partition);
    if (isEmpty) return undefined;
    for (let backMs = LOOK_BACK_FIRST_MS; backMs < now; backMs *= LOOK_BACK_FACTOR) {
      const offset = (await messageBus.offsets(topic, now - backMs)).get(partition) ?? earliest;
      if (BigInt(offset) >= BigInt(latest)) continue;
      if (BigInt(offset) <= BigInt(earliest)) break;
      if ((await this.positionAt(partition, offset, signal)) <= position) return offset;
    }
    return earliest;
  }

  private async ends(partition: number): Promise<{ earliest: string; latest: string; isEmpty: boolean }> {
    const { messageBus } = this.options;
    const earliest = (await messageBus.offsets(topic, 'earliest')).get(partition) ?? '0';
    const latest = (await messageBus.offsets(topic, 'latest')).get(partition) ?? '0';
    return { earliest, latest, isEmpty: BigInt(latest) <= BigInt(earliest) };
  }

  /**
   * Of the first message from an offset that has one.
   * @throws Refusal dependency_unavailable when none comes in time, e.g. because all were deleted meanwhile
   */
  private async positionAt(partition: number, offset: string, signal: AbortSignal): Promise<Position> {
    const { messageBus, reader } = this.options;
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(POSITION_WITHIN_MS)]);
    for await (const { messages } of messageBus.consume(topic, new Map([[partition, offset]]), inTime)) {
      for (const message of messages) {
        const found = reader.message(message);
        if (found) return found.position;
      }
    }
    signal.throwIfAborted();
    const detail = `partition ${String(partition)} gave no message from ${offset} on`;
    throw new Refusal('dependency_unavailable', detail, { retryAfter: 1 });
  }
}
