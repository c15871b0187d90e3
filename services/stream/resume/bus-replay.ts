import { topics } from '../../../schemas/topics.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { GenuineMessages } from '../../../shared/message-bus/genuine/genuine-messages.ts';
import type { MessageBus } from '../../../shared/message-bus/message-bus.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { channelKey, type Channel } from '../domain/channel.ts';
import type { MessageReader } from '../domain/chain-message.ts';
import type { Page } from '../domain/delivery.ts';
import { BusPieces, type BusPiece } from './bus-pieces.ts';
import { SharedAnswers } from './shared-answers.ts';

const topic = topics.chainEvents;

/** How far the search for a position goes back in time at first; each further attempt goes back by this factor more. */
const LOOK_BACK_FIRST_MS = 60_000;
const LOOK_BACK_FACTOR = 4;
/** Searches of about the same time use the same times: multiples of this share of how far they go back. */
const LOOK_BACK_STEPS = 4;
const READ_TIMEOUT_MS = 5_000;
/** For so long, clients that return share where the topic begins and ends. */
const ENDS_TTL_MS = 1_000;
const FOUND_TTL_MS = 10_000;
const ANSWERS_MAX = 1_000;

interface BusReplayOptions {
  messageBus: MessageBus;
  genuine: Pick<GenuineMessages, 'filter'>;
  reader: MessageReader;
  clock: Clock;
  /** Called for each read of the bus that begins. */
  onRead?: () => void;
  /** How long reading an existing message may take; default 5 s. */
  readTimeoutMs?: number;
}

/** Offsets of a partition, and the first event-store position in it; `undefined` if it has no message. */
interface Ends {
  earliest: bigint;
  latest: bigint;
  first: Position | undefined;
}

/** The first offset of a time, and the first event-store position from there on, if it was looked for and found. */
interface FoundTime {
  offset: bigint;
  position: Position | undefined;
}

/**
 * Reads older changes of a channel from the topic. Relies on one invariant: within a partition each position is first
 * published after all lower ones. So all messages after a position follow the first publication of any lower or equal
 * position; repeats are among them. A copy that somebody published again is not a first publication. Among the events
 * stored since a time, which is signed, the first message after the offset of that time is a first publication. The
 * time of a message itself only tells where the search begins. Readers share everything that they read.
 */
export class BusReplay {
  private readonly pieces: BusPieces;
  private readonly ends: SharedAnswers<Ends>;
  private readonly times: SharedAnswers<FoundTime>;

  constructor(private readonly options: BusReplayOptions) {
    const small = { maxBytes: ANSWERS_MAX, bytesOf: () => 1, clock: options.clock };
    this.ends = new SharedAnswers({ ...small, ttlMs: ENDS_TTL_MS });
    this.times = new SharedAnswers({ ...small, ttlMs: FOUND_TTL_MS });
    this.pieces = new BusPieces(options);
  }

  /**
   * Yields the changes of a channel after a position, up to the end of the topic. The end is at most a second old.
   * @throws MessagesDeleted if some are deleted before they are read
   */
  async *changesAfter(channel: Channel, position: Position, signal: AbortSignal): AsyncGenerator<Page> {
    const partition = this.partitionOf(channel);
    let reached = position;
    let ends = await this.endsOf(partition, signal);
    if (ends.first === undefined) return;
    let offset = await this.findStartOffset(partition, { position, ends }, signal);
    for (;;) {
      // The topic may have grown while a slow reader came to its end.
      if (offset >= ends.latest) ends = await this.endsOf(partition, signal);
      if (offset >= ends.latest) return;
      const { piece, next }: BusPiece = await this.pieces.at({ partition, offset }, signal);
      for (const page of piece.pages(channel, { after: reached }, this.options.reader)) {
        reached = page.end.position;
        yield page;
      }
      offset = next;
    }
  }

  /** Returns the first position that the partition of a channel has; `undefined` if it has no message. */
  async firstPosition(channel: Channel, signal: AbortSignal): Promise<Position | undefined> {
    return (await this.endsOf(this.partitionOf(channel), signal)).first;
  }

  /** Looks anew where the topic begins. */
  forgetEnds(channel: Channel): void {
    this.ends.forget(String(this.partitionOf(channel)));
  }

  private partitionOf(channel: Channel): number {
    return this.options.messageBus.partitionOf(topic, channelKey(channel));
  }

  /** Returns the offset of a message at or before `position`, else the first offset. */
  private async findStartOffset(
    partition: number,
    { position, ends }: { position: Position; ends: Ends },
    signal: AbortSignal,
  ): Promise<bigint> {
    const now = this.options.clock.now();
    for (let backMs = LOOK_BACK_FIRST_MS; backMs < now; backMs *= LOOK_BACK_FACTOR) {
      const stepMs = backMs / LOOK_BACK_STEPS;
      const sinceMs = Math.floor((now - backMs) / stepMs) * stepMs;
      const key = `${String(partition)} ${String(sinceMs)}`;
      const found = await this.times.get(key, signal, (ending) => this.findTime(partition, sinceMs, ends, ending));
      if (found.offset <= ends.earliest) break;
      if (found.position !== undefined && found.position <= position) return found.offset;
    }
    return ends.earliest;
  }

  private async findTime(partition: number, sinceMs: number, ends: Ends, signal: AbortSignal): Promise<FoundTime> {
    const { earliest, latest } = ends;
    const offset = offsetIn(await this.options.messageBus.offsets(topic, sinceMs), partition);
    if (offset <= earliest) return { offset, position: undefined };
    return { offset, position: await this.positionAt(partition, { from: offset, until: latest, sinceMs }, signal) };
  }

  private endsOf(partition: number, signal: AbortSignal): Promise<Ends> {
    return this.ends.get(String(partition), signal, (ending) => this.readEnds(partition, ending));
  }

  private async readEnds(partition: number, signal: AbortSignal): Promise<Ends> {
    const { messageBus } = this.options;
    const earliest = offsetIn(await messageBus.offsets(topic, 'earliest'), partition);
    const latest = offsetIn(await messageBus.offsets(topic, 'latest'), partition);
    const range = { from: earliest, until: latest, sinceMs: 0 };
    return { earliest, latest, first: await this.positionAt(partition, range, signal) };
  }

  /**
   * Returns the first event-store position in the messages from offset `from` on whose events were stored since a time;
   * `undefined` if no message before offset `until` has one.
   * @throws Refusal dependency_unavailable if no message is received in time, e.g. because all were deleted meanwhile
   */
  private async positionAt(
    partition: number,
    { from, until, sinceMs }: { from: bigint; until: bigint; sinceMs: number },
    signal: AbortSignal,
  ): Promise<Position | undefined> {
    const late = AbortSignal.timeout(this.options.readTimeoutMs ?? READ_TIMEOUT_MS);
    for (let offset = from; offset < until;) {
      const { piece, next } = await this.pieces
        .at({ partition, offset }, AbortSignal.any([signal, late]))
        .catch((error: unknown) => {
          if (signal.aborted || !late.aborted) throw error;
          const detail = `partition ${String(partition)} has no message from ${String(from)} on`;
          throw new Refusal('dependency_unavailable', detail, { retryAfter: 1, cause: error });
        });
      const found = piece.messages.find(({ storedAtMs }) => !(storedAtMs < sinceMs));
      if (found) return found.position;
      offset = next;
    }
    return undefined;
  }
}

const offsetIn = (offsets: ReadonlyMap<number, string>, partition: number): bigint =>
  BigInt(offsets.get(partition) ?? 0);
