import { once } from 'node:events';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { EventLog, LoggedEvent } from './event-log.ts';
import type { Faults } from './faults.ts';
import {
  caughtUp,
  checkpoint,
  confirmation,
  fellBehind,
  notLeader,
  notReady,
  streamDeleted,
  streamName,
  streamNotFound,
} from './wire.esdb.ts';

/** A call whose answers are encoded already. */
export type ReadCall = ServerWritableStream<ReadReq, Buffer>;

/** A live subscription that lags by more events is no longer live, until it has caught up again. */
const LIVE_EVENTS_MAX = 32;
/** Events that the server scans between two checkpoints, unless the client sets it. */
const SEARCH_WINDOW = 32;

interface EventRange {
  events: readonly LoggedEvent[];
  /** Index of the first event that may be delivered. */
  first: number;
  /** Index at which to begin. */
  from: number;
}

/** Answers a read or a subscription. */
export class Reading {
  private readonly stopped = new AbortController();
  private readonly options: ReadReq.Options;

  constructor(
    private readonly log: EventLog,
    private readonly faults: Faults,
    private readonly call: ReadCall,
    private readonly onGiven: () => void,
    /** The subscriptions that are open. */
    private readonly subscriptions: Set<Reading>,
  ) {
    const options = call.request.getOptions();
    if (!options) throw new Error('a read without options');
    this.options = options;
    call.on('cancelled', () => {
      this.stopped.abort();
    });
  }

  async answer(): Promise<void> {
    const { leader, isStarting } = this.faults;
    const wantsLeader = this.call.metadata.get('requires-leader')[0] === 'true';
    if (isStarting) this.call.emit('error', notReady());
    else if (leader && wantsLeader) this.call.emit('error', notLeader(leader));
    else if (this.options.hasSubscription()) {
      this.subscriptions.add(this);
      await this.follow();
      this.subscriptions.delete(this);
    } else await this.give();
  }

  private async give(): Promise<void> {
    if (this.faults.isSlow) await this.faults.slowness();
    const stream = this.options.getStream();
    const name = stream ? streamName(stream) : undefined;
    const state = name === undefined ? 'present' : this.log.readable(name).state;
    if (state === 'tombstoned') {
      this.call.emit('error', streamDeleted(name ?? ''));
      return;
    }
    if (state === 'missing') await this.send(streamNotFound(name ?? ''));
    else await this.giveFrom(name === undefined ? this.allRange() : this.streamRange(name));
    this.call.end();
  }

  private async giveFrom({ events, first, from }: EventRange): Promise<void> {
    const isBackwards = this.options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS;
    const countMax = Number(this.options.getCount());
    let index = isBackwards ? Math.min(from, events.length - 1) : Math.max(from, first);
    for (let count = 0; count < countMax && index >= first && !this.stopped.signal.aborted; count += 1) {
      const event = events[index];
      if (!event) return;
      await this.sendEvent(event);
      index += isBackwards ? -1 : 1;
    }
  }

  /** Delivers the stored events, reports that it has caught up, and then delivers new events. */
  private async follow(): Promise<void> {
    const { signal } = this.stopped;
    const passes = this.filter();
    const stream = this.options.getStream();
    const name = stream ? streamName(stream) : undefined;
    let { from } = name === undefined ? this.allRange() : this.streamRange(name);
    const { events, first } = name === undefined ? { events: this.log.all, first: 0 } : this.log.readable(name);
    from = Math.max(from, first);
    let isLive = false;
    let scanned = 0;
    await this.send(confirmation(crypto.randomUUID()));
    while (!signal.aborted) {
      if (this.faults.isSlow) await this.faults.slowness();
      const seen = this.log.appended.rung;
      const event = events[from];
      if (!event) {
        if (!isLive) await this.send(caughtUp());
        isLive = true;
        await this.log.appended.wait(seen, signal);
        continue;
      }
      if (isLive && events.length - from > LIVE_EVENTS_MAX) {
        isLive = false;
        await this.send(fellBehind());
      }
      from += 1;
      if (passes(event)) await this.sendEvent(event);
      scanned += 1;
      if (scanned === this.checkpointEvery) {
        scanned = 0;
        // While catching up, the server reads pages and reports the position after the page; live, it reports the
        // event's position.
        const next = events[from]?.position ?? this.log.end;
        await this.send(isLive ? checkpoint(event.position, event.position) : checkpoint(next, 0));
      }
    }
  }

  private get checkpointEvery(): number {
    const filter = this.options.getFilter();
    if (!filter) return Infinity;
    return (filter.hasMax() ? filter.getMax() : SEARCH_WINDOW) * Math.max(filter.getCheckpointintervalmultiplier(), 1);
  }

  private filter(): (event: LoggedEvent) => boolean {
    const filter = this.options.getFilter();
    const expression = filter?.getStreamIdentifier() ?? filter?.getEventType();
    if (!filter || !expression) return () => true;
    const prefixes = expression.getPrefixList();
    const regex = new RegExp(expression.getRegex());
    const matches = (text: string) =>
      prefixes.length > 0 ? prefixes.some((prefix) => text.startsWith(prefix)) : regex.test(text);
    return filter.hasStreamIdentifier() ? ({ stream }) => matches(stream) : ({ type }) => matches(type);
  }

  /** A read includes its first position, a subscription does not. */
  private allRange(): EventRange {
    const all = this.options.getAll();
    const position = all?.getPosition();
    const { all: events } = this.log;
    const range = { events, first: 0 };
    if (all?.hasEnd()) return { ...range, from: events.length };
    if (!position) return { ...range, from: 0 };
    const commit = Number(position.getCommitPosition());
    const isExcluded = this.options.hasSubscription() && Number(position.getPreparePosition()) >= commit;
    return { ...range, from: this.log.indexFrom(commit + (isExcluded ? 1 : 0)) };
  }

  private streamRange(name: string): EventRange {
    const stream = this.options.getStream();
    const { events, first } = this.log.readable(name);
    if (stream?.hasEnd()) return { events, first, from: events.length };
    if (!stream?.hasRevision()) return { events, first, from: 0 };
    return { events, first, from: Number(stream.getRevision()) + (this.options.hasSubscription() ? 1 : 0) };
  }

  private async sendEvent({ message }: LoggedEvent): Promise<void> {
    await this.send(message);
    this.onGiven();
  }

  /** Waits while the client does not read. */
  private async send(message: Buffer): Promise<void> {
    if (this.stopped.signal.aborted || this.call.write(message)) return;
    await once(this.call, 'drain', { signal: this.stopped.signal }).catch(() => undefined);
  }
}
