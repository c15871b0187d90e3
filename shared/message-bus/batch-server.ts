import { Catch, type RpcExceptionFilter } from '@nestjs/common';
import { BaseRpcContext, Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import { isObservable, lastValueFrom, throwError, type Observable } from 'rxjs';
import type { Topic } from '../../schemas/topics.ts';
import { SupervisedLoop } from '../loops/supervised-loop.ts';
import { TopicReplaced, type BusBatch, type MessageBus, type Offsets } from './message-bus.ts';
import type { Logger } from 'pino';
import { untilAborted } from '../primitives/until-aborted.ts';

/** What a handler may know beside its batch. */
export class BatchContext extends BaseRpcContext<[topic: Topic, signal: AbortSignal]> {
  get topic(): Topic {
    return this.args[0];
  }

  /** Aborts when the server closes, which waits for the handler. */
  get signal(): AbortSignal {
    return this.args[1];
  }
}

export interface BatchServerOptions {
  messageBus: MessageBus;
  logger: Logger;
  /** Those that handlers may name. */
  topics: readonly Topic[];
  /** Where to begin with a topic; asked once, or until it answers, and again when the topic is another one. */
  startAt: (topic: Topic) => Promise<Offsets>;
}

/**
 * Nest's transport over the message bus. `@EventPattern(topic.name)` names a handler that takes `@Payload() batch: BusBatch`:
 * every batch of the topic, one after the other, the next when the last was handled. A batch whose handler fails, as a bus
 * that does, is logged and tried again, until it is through or the server closes; so a handler may see a batch twice.
 */
export class BatchServer extends Server implements CustomTransportStrategy {
  override readonly propagatesEventHandlerErrors = true;
  private loops: SupervisedLoop[] = [];

  constructor(private readonly options: BatchServerOptions) {
    super();
  }

  /** Whether every topic is being followed, and no batch of it keeps failing. */
  get isFollowing(): boolean {
    return this.loops.every(({ state }) => state === 'running');
  }

  /** @throws when a handler is for no event of a topic, or a topic has two: each would need a position of its own */
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
    throw new Error('a batch server tells no events');
  }

  unwrap(): never {
    throw new Error('a batch server wraps nothing: ask for the message bus');
  }

  private loop(topic: Topic, handler: MessageHandler): SupervisedLoop {
    const { messageBus, logger, startAt } = this.options;
    let next: Map<number, string> | undefined;
    return new SupervisedLoop(`consumer of ${topic.name}`, logger, async (signal, working) => {
      next ??= new Map(await untilAborted(startAt(topic), signal));
      // Otherwise the first batch will show whether it works now.
      const latest = await untilAborted(messageBus.offsets(topic, 'latest'), signal);
      if (!isBehind(next, await untilAborted(messageBus.offsets(topic, 'earliest'), signal), latest)) working();
      const context = new BatchContext([topic, signal]);
      try {
        for await (const batch of messageBus.consume(topic, next, signal)) {
          await this.handle(handler, batch, context);
          const last = batch.messages.at(-1);
          if (last) next.set(batch.partition, String(BigInt(last.offset) + 1n));
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
        settled(handler(batch, context)).finally(end).then(resolve, reject),
      );
    });
  }
}

/** Hands errors of a controller to the batch server as they are; Nest would only say `Internal server error`. */
@Catch()
export class ErrorAsItIs implements RpcExceptionFilter {
  catch(error: unknown): Observable<never> {
    return throwError(() => error);
  }
}

/** Whether something is kept that was not given: an empty partition may end anywhere. */
const isBehind = (next: Offsets, earliest: Offsets, latest: Offsets): boolean =>
  Array.from(next).some(([partition, offset]) => {
    const end = BigInt(latest.get(partition) ?? 0);
    return BigInt(offset) < end && BigInt(earliest.get(partition) ?? 0) < end;
  });

/** A handler answers with a value or an observable; with interceptors, or after an error, always with the latter. */
const settled = async (answer: Promise<unknown>): Promise<void> => {
  try {
    const value = await answer;
    if (isObservable(value)) await lastValueFrom(value, { defaultValue: undefined });
  } catch (error) {
    // Of Nest's own filter: an object that says what was, and is no error.
    throw error instanceof Error ? error : new Error(`the handler failed: ${JSON.stringify(error)}`);
  }
};
