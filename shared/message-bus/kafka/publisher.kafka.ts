import kafkajs, { type Producer } from 'kafkajs';
import type { Settings } from '../../config/settings.ts';
import { unavailable } from '../../errors/refusal.ts';
import { untilAborted } from '../../primitives/waiting/until-aborted.ts';
import { disconnectOrCut, type KafkaClient } from './client/kafka-client.kafka.ts';
import { refusalOfMessage } from './client/kafka-errors.kafka.ts';
import { MessageRefused } from '../message-bus.ts';
import { publishRequests, type Routed } from './publish-requests.ts';

/** The timeout of one request. A call may need several. */
const REQUEST_TIMEOUT_MS = 10_000;
/** The timeout of a request in progress once the signal has aborted. */
const LAST_REQUEST_MS = 2_000;

const acknowledgements = { all: -1, 1: 1, 0: 0 } as const;
const { ZSTD, GZIP, None } = kafkajs.CompressionTypes;
const compressions = { zstd: ZSTD, gzip: GZIP, none: None } as const;

interface Sender {
  client: KafkaClient;
  producer: Producer;
  connected: Promise<void>;
}

/**
 * Sends one request at a time, which the sequence numbers of kafkajs's idempotent producer require. After any failure
 * it creates a new producer: the old one's sequence numbers may be wrong, and it may still be retrying.
 */
export class Publisher {
  private sender: Sender | undefined;
  private isClosed = false;
  private previous: Promise<void> = Promise.resolve();

  constructor(
    private readonly newClient: () => KafkaClient,
    private readonly settings: Pick<Settings, 'KAFKA_ACKS' | 'KAFKA_COMPRESSION'>,
  ) {}

  publish(topicName: string, messages: readonly Routed[], signal?: AbortSignal): Promise<void> {
    const published = this.previous.then(async () => {
      for (const request of publishRequests(messages)) await this.send(topicName, request, signal);
    });
    // The caller receives the failure; the next call only waits.
    this.previous = published.catch(() => undefined);
    return published;
  }

  async close(): Promise<void> {
    const { sender } = this;
    this.isClosed = true;
    this.sender = undefined;
    if (sender) await disconnectOrCut(sender.client, () => sender.producer.disconnect());
  }

  private async send(topicName: string, request: readonly Routed[], signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    try {
      await withTimeout(signal, (timeout) => this.request(topicName, request, timeout));
    } catch (error) {
      this.sender?.client.sockets.cut();
      this.sender = undefined;
      const reason = refusalOfMessage(error);
      if (reason === undefined) throw unavailable(`Kafka did not store messages for ${topicName}`, error);
      const [first] = request;
      if (first && request.length === 1) throw new MessageRefused(first.index, reason, { cause: error });
      // A broker refuses a whole request without naming the message: halve the request until the message is alone.
      const half = request.length >> 1;
      await this.send(topicName, request.slice(0, half), signal);
      await this.send(topicName, request.slice(half), signal);
    }
  }

  private async request(topicName: string, request: readonly Routed[], timeout: AbortSignal): Promise<void> {
    this.sender ??= this.newSender();
    const { producer, connected } = this.sender;
    await untilAborted(connected, timeout);
    const sent = producer.send({
      topic: topicName,
      acks: acknowledgements[this.settings.KAFKA_ACKS],
      compression: compressions[this.settings.KAFKA_COMPRESSION],
      messages: request.map(({ partition, message: { key, headers, value, timestamp } }) => ({
        partition,
        key,
        headers,
        value,
        timestamp: String(timestamp),
      })),
    });
    await untilAborted(sent, timeout);
  }

  private newSender(): Sender {
    if (this.isClosed) throw new Error('the message bus is closed');
    const client = this.newClient();
    const producer = client.kafka.producer({
      idempotent: this.settings.KAFKA_ACKS === 'all',
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    });
    return { client, producer, connected: producer.connect() };
  }
}

/** Aborts `ask` when it takes too long. @param signal aborts when the work must end, and shortens the timeout */
const withTimeout = async (
  signal: AbortSignal | undefined,
  ask: (timeout: AbortSignal) => Promise<void>,
): Promise<void> => {
  const timeout = new AbortController();
  const abortAfter = (ms: number) =>
    setTimeout(() => {
      timeout.abort(new Error(`no answer within ${String(ms)} ms`));
    }, ms);
  let timer = abortAfter(REQUEST_TIMEOUT_MS);
  const shorten = () => {
    clearTimeout(timer);
    timer = abortAfter(LAST_REQUEST_MS);
  };
  signal?.addEventListener('abort', shorten, { once: true });
  try {
    await ask(timeout.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', shorten);
  }
};
