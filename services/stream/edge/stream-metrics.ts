import { Counted, CountedTimes, type Measured } from '../../../shared/host/health/measure.ts';

const DELIVERY_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Why a client that does not read was disconnected: since 30 s, while it missed too much, or with too many answers. */
export type SlowReason = 'unread' | 'missed' | 'answers';

/** What the stream counts by itself. */
export class StreamMetrics {
  readonly accepts = new Counted({
    name: 'annals_stream_accepts_total',
    help: 'Sockets that asked to connect, by result: accepted, or the code of the refusal.',
    labelNames: ['result'],
  });
  readonly frames = new Counted({
    name: 'annals_stream_frames_total',
    help: 'Events written to sockets and event streams.',
    labelNames: [],
  });
  readonly bytes = new Counted({
    name: 'annals_stream_sent_bytes_total',
    help: 'Bytes of events written to sockets and event streams.',
    labelNames: [],
  });
  readonly resumes = new Counted({
    name: 'annals_stream_resumes_total',
    help: 'Subscriptions that caught up, by the oldest source read for them: memory, bus, event_store or read_model.',
    labelNames: ['source'],
  });
  readonly busReads = new Counted({
    name: 'annals_stream_bus_reads_total',
    help: 'Reads of older messages from the topic, for subscriptions whose cursor is older than what is in memory.',
    labelNames: [],
  });
  readonly gaps = new Counted({
    name: 'annals_stream_gaps_total',
    help: 'Subscriptions that were told of a gap, by reason: not_kept, the topic no longer has what follows the cursor.',
    labelNames: ['reason'],
  });
  readonly slowDisconnects = new Counted({
    name: 'annals_stream_slow_disconnects_total',
    help: 'Clients that were disconnected because they did not read, by reason: unread, missed or answers.',
    labelNames: ['reason'],
  });
  readonly deliveryTimes = new CountedTimes(
    {
      name: 'annals_stream_delivery_seconds',
      help: 'From the append of an event that has subscribers to its being sent to them.',
    },
    DELIVERY_SECONDS,
  );

  /** With what connections are at present. */
  measured(connections: Iterable<Measurable>): Measured[] {
    const { accepts, frames, bytes, resumes, busReads, gaps, slowDisconnects, deliveryTimes } = this;
    const counted = [accepts, frames, bytes, resumes, busReads, gaps, slowDisconnects, deliveryTimes];
    return [...connectionMetrics(connections), ...counted.map(({ measured }) => measured)];
  }
}

interface Measurable {
  readonly subscriptions: ReadonlyMap<string, unknown>;
  readonly bytesUnsent: number;
}

const connectionMetrics = (connections: Iterable<Measurable>): Measured[] => {
  const gauge = (name: string, help: string, of: (connection: Measurable) => number): Measured => ({
    ...{ name, help, labelNames: [] },
    read: () =>
      Promise.resolve([{ labels: {}, value: Array.from(connections, of).reduce((sum, value) => sum + value, 0) }]),
  });
  return [
    gauge('annals_stream_sockets', 'Connected sockets, and requests over plain HTTP that last.', () => 1),
    gauge('annals_stream_subscriptions', 'Subscriptions of all sockets.', ({ subscriptions }) => subscriptions.size),
    gauge('annals_stream_queue_bytes', 'Bytes that wait for their sockets.', ({ bytesUnsent }) => bytesUnsent),
  ];
};
