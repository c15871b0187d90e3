import { topics } from '../../../schemas/topics.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { GenuineMessages } from '../../../shared/message-bus/genuine/genuine-messages.ts';
import type { MessageBus } from '../../../shared/message-bus/message-bus.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { channelKey, channelName, type Channel } from '../domain/channel.ts';
import type { MessageReader } from '../domain/chain-message.ts';
import { resumePointAfter, type ResumePoint } from '../domain/cursor.ts';
import type { Delivery, Page } from '../domain/delivery.ts';

const topic = topics.chainEvents;

/** Decoding so many takes some milliseconds, in which nobody else is served. */
const DELIVERIES_PER_PAGE = 64;

/** How far the search for a position first goes back in time; each further try goes back by this factor more. */
const LOOK_BACK_FIRST_MS = 60_000;
const LOOK_BACK_FACTOR = 4;
/** How long reading a message that exists may take. */
const READ_TIMEOUT_MS = 5_000;
/**
 * The relay may publish a message this long after its event was stored. Messages are deleted by the time of their
 * event, so a resume point without an event is trusted for the retention time less this.
 */
const RELAY_LAG_MAX_MS = 86_400_000;

interface BusReplayOptions {
  messageBus: MessageBus;
  genuine: Pick<GenuineMessages, 'of'>;
  reader: MessageReader;
  clock: Clock;
}

/**
 * Reads older changes of a channel from the topic. It relies on one invariant: within a partition each position is
 * first published after all lower ones. So all messages after a position follow the first publication of any that is not newer
 * than it; repeats are among them. A copy that somebody published again is no first publication: of the events that were stored
 * since a time, which is signed, the first message behind the offset of that time is one. The time of a message itself only
 * tells where the search begins.
 */
export class BusReplay {
  constructor(private readonly options: BusReplayOptions) {}

  /** Implements `ChannelHistory.replay`. */
  async *changesAfter(channel: Channel, position: Position, signal: AbortSignal): AsyncGenerator<Page> {
    const { messageBus, genuine, reader } = this.options;
    const key = channelKey(channel);
    const partition = messageBus.partitionOf(topic, key);
    const start = await this.findStartOffset(partition, position, signal);
    if (start === undefined) return;
    const name = channelName(channel);
    let reached = position;
    for await (const { messages } of messageBus.consume(topic, new Map([[partition, start]]), signal)) {
      let deliveries: Delivery[] = [];
      for (const message of await genuine.of(messages)) {
        const found = reader.message(message);
        if (!found || found.position <= reached) continue;
        reached = found.position;
        if (found.key !== key) continue;
        const delivery = reader.delivery(found);
        if (delivery?.channel !== name || deliveries.push(delivery) < DELIVERIES_PER_PAGE) continue;
        yield { deliveries, end: resumePointAfter(reached) };
        deliveries = [];
      }
      yield { deliveries, end: resumePointAfter(reached) };
    }
  }

  /**
   * Implements `ChannelHistory.gapAfter`. After the resume point of an event there is no gap while its message is
   * stored; after one with `newestAtMs` there is none either while no message after that time can have been deleted.
   */
  async gapAfter(
    channel: Channel,
    resumePoint: ResumePoint,
    newest: Position,
    signal: AbortSignal,
  ): Promise<Position | undefined> {
    const { messageBus, clock } = this.options;
    const partition = messageBus.partitionOf(topic, channelKey(channel));
    const first = await this.earliestPosition(partition, signal);
    if (first !== undefined && first <= resumePoint.position + 1) return undefined;
    const keptFrom = clock.now() - topic.retentionMs + RELAY_LAG_MAX_MS;
    if (resumePoint.newestAtMs !== undefined && resumePoint.newestAtMs > keptFrom) return undefined;
    return first === undefined ? newest : first - 1;
  }

  private async earliestPosition(partition: number, signal: AbortSignal): Promise<Position | undefined> {
    const { earliest, latest, isEmpty } = await this.offsetRange(partition);
    return isEmpty ? undefined : this.positionAt(partition, { from: earliest, until: latest, sinceMs: 0 }, signal);
  }

  /** Returns the offset of a message not newer than `position`, else the first; `undefined`: there is no message. */
  private async findStartOffset(
    partition: number,
    position: Position,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { messageBus, clock } = this.options;
    const now = clock.now();
    const { earliest, latest, isEmpty } = await this.offsetRange(partition);
    if (isEmpty) return undefined;
    for (let backMs = LOOK_BACK_FIRST_MS; backMs < now; backMs *= LOOK_BACK_FACTOR) {
      const sinceMs = now - backMs;
      const offset = (await messageBus.offsets(topic, sinceMs)).get(partition) ?? earliest;
      if (BigInt(offset) >= BigInt(latest)) continue;
      if (BigInt(offset) <= BigInt(earliest)) break;
      const found = await this.positionAt(partition, { from: offset, until: latest, sinceMs }, signal);
      if (found !== undefined && found <= position) return offset;
    }
    return earliest;
  }

  private async offsetRange(partition: number): Promise<{ earliest: string; latest: string; isEmpty: boolean }> {
    const { messageBus } = this.options;
    const earliest = (await messageBus.offsets(topic, 'earliest')).get(partition) ?? '0';
    const latest = (await messageBus.offsets(topic, 'latest')).get(partition) ?? '0';
    return { earliest, latest, isEmpty: BigInt(latest) <= BigInt(earliest) };
  }

  /**
   * Returns the first event-store position in the messages from offset `from` on whose events were stored since a time;
   * `undefined` if no message before offset `until` has one.
   * @throws Refusal dependency_unavailable when no message is received in time, e.g. because all were deleted meanwhile
   */
  private async positionAt(
    partition: number,
    { from, until, sinceMs }: { from: string; until: string; sinceMs: number },
    signal: AbortSignal,
  ): Promise<Position | undefined> {
    const { messageBus, genuine, reader } = this.options;
    const signalOrTimeout = AbortSignal.any([signal, AbortSignal.timeout(READ_TIMEOUT_MS)]);
    for await (const { messages } of messageBus.consume(topic, new Map([[partition, from]]), signalOrTimeout)) {
      for (const message of await genuine.of(messages)) {
        const found = reader.message(message);
        if (found && !(found.storedAtMs < sinceMs)) return found.position;
      }
      const last = messages.at(-1);
      if (last && BigInt(last.offset) + 1n >= BigInt(until)) return undefined;
    }
    signal.throwIfAborted();
    const detail = `partition ${String(partition)} has no message from ${from} on`;
    throw new Refusal('dependency_unavailable', detail, { retryAfter: 1 });
  }
}
