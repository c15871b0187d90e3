import { Catch, type RpcExceptionFilter } from '@nestjs/common';
import { BaseRpcContext, Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import { isObservable, lastValueFrom, throwError, type Observable } from 'rxjs';
import type { Topic } from '../../../schemas/topics.ts';
import { SupervisedLoop } from '../../loops/supervised-loop.ts';
import { followed, type FollowedPartitions } from '../followed-partitions.ts';
import { TopicReplaced, type BusBatch, type MessageBus, type Offsets, type WhereToRead } from '../message-bus.ts';
import type { Logger } from 'pino';
import { untilAborted } from '../../primitives/waiting/until-aborted.ts';

/** The context that a handler receives with its batch. */
export class BatchContext extends BaseRpcContext<[topic: Topic, signal: AbortSignal]> {
  get topic(): Topic {
    return this.args[0];
  }

  /** Aborts when the server closes. Closing waits for the handler. */
  get signal(): AbortSignal {
    return this.args[1];
  }
}

export interface BatchServerOptions {
  messageBus: MessageBus;
  logger: Logger;
  /** The topics that handlers may name. */
  topics: readonly Topic[];
  /** Returns where to read from. Called until it succeeds, and again when the topic was replaced. */
  startAt: (topic: Topic) => Promise<WhereToRead>;
}

/**
 * Nest's transport over the message bus. `@EventPattern(topic.name)` names a handler that takes `@Payload() batch:
 * BusBatch`. A handler receives the batches of its topic one after the other. When it or the bus fails, the server logs
 * the error and retries the batch until it succeeds or the server closes, so a handler may see a batch twice.
 */
export class BatchServer extends Server implements CustomTransportStrategy {
  override readonly propagatesEventHandlerErrors = true;
  private loops: SupervisedLoop[] = [];

  constructor(private readonly options: BatchServerOptions) {
    super();
  }

  /** Whether every topic is being followed, and no batch is failing. */
  get isFollowing(): boolean {
    return this.loops.every(({ state }) => state === 'running');
  }

  /** @throws if a handler is not for events of a known topic, or a topic has two, which would need a position each */
  listen(callback: () => void): void {
    this.loops = Array.from(this.messageHandlers, ([name, handler]) => {
      const topic = this.options.topics.find((one) => one.name === name);
      if (!topic || handler.isEventHandler !== true) throw new Error(`there are no batches of ${name}`);
      if (handler.next) throw new Error(`two handlers for ${name}: give each a server of its own`);
      return this.loop(topic, handler);
    });
    for (const loop of this.loops) loop.start();
    callback();
  }

  async close(): Promise<void> {
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }

  on(): never {
    throw new Error('a batch server emits no events');
  }

  unwrap(): never {
    throw new Error('a batch server has no underlying server: inject the message bus');
  }

  private loop(topic: Topic, handler: MessageHandler): SupervisedLoop {
    const { messageBus, logger, startAt } = this.options;
    let next: FollowedPartitions | undefined;
    return new SupervisedLoop(`consumer of ${topic.name}`, logger, async (signal, working) => {
      next ??= followed(await untilAborted(startAt(topic), signal));
      // If there are messages to read, the first batch shows whether the consumer works.
      const latest = await untilAborted(messageBus.offsets(topic, 'latest'), signal);
      if (!isBehind(next, await untilAborted(messageBus.offsets(topic, 'earliest'), signal), latest)) working();
      const context = new BatchContext([topic, signal]);
      try {
        for await (const batch of messageBus.consume(topic, next, signal)) {
          await this.handle(handler, batch, context);
          working();
        }
      } catch (error) {
        if (error instanceof TopicReplaced) next = undefined;
        throw error;
      }
    });
  }

  private handle(handler: MessageHandler, batch: BusBatch, context: BatchContext): Promise<void> {
    return new Promise((resolve, reject) => {
      this.runWithProcessingHooks(context, (end) =>
        whenHandled(handler(batch, context)).finally(end).then(resolve, reject),
      );
    });
  }
}

/**
 * Passes errors of a controller to the batch server unchanged; Nest would replace them with `Internal server error`.
 */
@Catch()
export class ErrorAsItIs implements RpcExceptionFilter {
  catch(error: unknown): Observable<never> {
    return throwError(() => error);
  }
}

/**
 * Whether a kept message was not consumed yet. The end offset alone does not show that: an empty partition may end
 * anywhere.
 */
const isBehind = (next: FollowedPartitions, earliest: Offsets, latest: Offsets): boolean =>
  Array.from(next).some(({ partition, offset }) => {
    const end = BigInt(latest.get(partition) ?? 0);
    return BigInt(offset) < end && BigInt(earliest.get(partition) ?? 0) < end;
  });

/** Waits for a handler, which returns a value or an observable; with interceptors, or after an error, an observable. */
const whenHandled = async (answer: Promise<unknown>): Promise<void> => {
  try {
    const value = await answer;
    if (isObservable(value)) await lastValueFrom(value, { defaultValue: undefined });
  } catch (error) {
    // Nest's own filter throws an object that describes the failure and is not an Error.
    throw error instanceof Error ? error : new Error(`the handler failed: ${JSON.stringify(error)}`);
  }
};
