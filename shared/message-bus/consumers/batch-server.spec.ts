import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Catch,
  Controller,
  Module,
  UseFilters,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type INestMicroservice,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Ctx, EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { EMPTY, map, of, throwError, type Observable } from 'rxjs';
import type { Topic } from '../../../schemas/topics.ts';
import { MemoryMessageBus } from '../../testing/engines/message-bus.memory.ts';
import type { BusBatch, Offsets } from '../message-bus.ts';
import { eventually } from '../../testing/eventually.ts';
import { testFoundation } from '../../testing/test-foundation.ts';
import { BatchContext, BatchServer, ErrorAsItIs, type BatchServerOptions } from './batch-server.ts';

const topic: Topic = { name: 'test.topic', partitions: 2, retentionMs: null };
/** An array, because Nest's types allow no second argument for the handler of a single pattern. */
const pattern = [topic.name];
const WITHIN_MS = 5_000;
/** The answer of a server that is down. */
const SILENT = new Promise<Offsets>(() => undefined);
const apps: INestMicroservice[] = [];

/** A bus whose consumers fail in the middle of a batch, this many times. */
class BreakingBus extends MemoryMessageBus {
  breaks = 0;

  override async *consume(of: Topic, from: Offsets, signal: AbortSignal): AsyncGenerator<BusBatch> {
    for await (const { partition, messages } of super.consume(of, from, signal)) {
      for (const message of messages) {
        yield { partition, messages: [message] };
        if (this.breaks === 0) continue;
        this.breaks -= 1;
        throw new Error('the bus failed');
      }
    }
  }
}

const serve = async (
  controller: Type,
  { messageBus = new MemoryMessageBus(), ...others }: Partial<BatchServerOptions> = {},
) => {
  await messageBus.createTopics([topic]);
  const { logger, logged } = await testFoundation();
  const startAt = () => messageBus.offsets(topic, 'earliest');
  const server = new BatchServer({ messageBus, logger, topics: [topic], startAt, ...others });
  @Module({ controllers: [controller] })
  class Root {}
  const app = await NestFactory.createMicroservice(Root, { strategy: server, logger: false, abortOnError: false });
  apps.push(app);
  const publish = (...values: string[]) =>
    messageBus.publish(
      topic,
      values.map((value) => ({ key: 'k', headers: {}, value, timestamp: 0 })),
    );
  const errors = () => logged.map((line) => (line['err'] as { message?: string } | undefined)?.message);
  return { app, server, publish, errors };
};

const valuesOf = ({ messages }: BusBatch): string => messages.map(({ value }) => value).join();

/** Records its batches, and fails the first time in the way that `fail` defines. */
const failingOnce = () => {
  const given: string[] = [];
  let isFirst = true;
  const once = <Result>(batch: BusBatch, fail: () => Result): Result | undefined => {
    given.push(valuesOf(batch));
    if (!isFirst) return undefined;
    isFirst = false;
    return fail();
  };
  return { given, once };
};
const broken = (): never => {
  throw new Error('broken');
};

describe('a batch server', () => {
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  it('gives the batches of each partition in order, each one when the last was handled', async () => {
    const given: string[] = [];
    let handled: PromiseWithResolvers<undefined> | undefined;
    @Controller()
    class Slow {
      @EventPattern(pattern)
      async take(@Payload() batch: BusBatch, @Ctx() context: BatchContext): Promise<void> {
        given.push(`${context.topic.name}: ${valuesOf(batch)}`);
        handled = Promise.withResolvers();
        await handled.promise;
      }
    }
    const { app, publish, server } = await serve(Slow);
    await app.listen();
    await publish('1', '2');
    await eventually(() => given.length === 1, WITHIN_MS, 'the first batch must arrive');
    await publish('3');
    await publish('4');
    expect(given).toEqual(['test.topic: 1,2']);
    handled?.resolve(undefined);
    await eventually(() => given.length === 2, WITHIN_MS, 'the second batch must arrive');
    expect(given).toEqual(['test.topic: 1,2', 'test.topic: 3,4']);
    handled?.resolve(undefined);
    await eventually(() => server.isFollowing, WITHIN_MS, 'the server must follow');
  });

  const inTheHandler = failingOnce();
  @Controller()
  @UseFilters(ErrorAsItIs)
  class Handler {
    @EventPattern(pattern)
    async take(@Payload() batch: BusBatch): Promise<void> {
      await Promise.resolve();
      inTheHandler.once(batch, broken);
    }
  }
  const inAnAnswer = failingOnce();
  @Controller()
  @UseFilters(ErrorAsItIs)
  class Answer {
    @EventPattern(pattern)
    take(@Payload() batch: BusBatch): Observable<number> {
      return inAnAnswer.once(batch, () => throwError(() => new Error('broken'))) ?? of(1, 2);
    }
  }
  const inAGuard = failingOnce();
  @Controller()
  @UseFilters(ErrorAsItIs)
  @UseGuards({
    canActivate: (context) => inAGuard.once(context.switchToRpc().getData<BusBatch>(), () => false) ?? true,
  })
  class Guarded {
    @EventPattern(pattern)
    take(): Observable<never> {
      return EMPTY;
    }
  }
  const inAPipe = failingOnce();
  @Controller()
  @UseFilters(ErrorAsItIs)
  class Piped {
    @EventPattern(pattern)
    take(@Payload({ transform: (batch: BusBatch) => inAPipe.once(batch, broken) }) _batch: undefined): void {
      // Only the pipe is tested.
    }
  }
  const inAnInterceptor = failingOnce();
  @Controller()
  @UseFilters(ErrorAsItIs)
  @UseInterceptors({
    intercept: (_context, next: CallHandler<BusBatch>) =>
      next.handle().pipe(map((batch) => inAnInterceptor.once(batch, broken))),
  })
  class Intercepted {
    @EventPattern(pattern)
    take(@Payload() batch: BusBatch): BusBatch {
      return batch;
    }
  }
  const withoutFilter = failingOnce();
  @Controller()
  class WithoutFilter {
    @EventPattern(pattern)
    take(@Payload() batch: BusBatch): void {
      withoutFilter.once(batch, broken);
    }
  }
  it.each([
    ['in the handler', Handler, inTheHandler, 'broken'],
    ['in the observable that the handler answered', Answer, inAnAnswer, 'broken'],
    ['in a guard', Guarded, inAGuard, 'Forbidden resource'],
    ['in a pipe', Piped, inAPipe, 'broken'],
    ['in an interceptor', Intercepted, inAnInterceptor, 'broken'],
    ["behind Nest's own filter", WithoutFilter, withoutFilter, expect.stringContaining('Internal server error')],
  ])(
    'logs a failure %s, reports it as its state, and gives the batch again before the next',
    async (_, controller, seen, text) => {
      const { app, server, publish, errors } = await serve(controller);
      await app.listen();
      await eventually(() => server.isFollowing, WITHIN_MS, 'a server with nothing to do must follow');
      await publish('1', '2');
      await eventually(() => !server.isFollowing, WITHIN_MS, 'the server must report that it fails');
      await publish('3');
      await eventually(() => server.isFollowing, WITHIN_MS, 'the server must recover');
      await eventually(() => seen.given.join().endsWith('3'), WITHIN_MS, 'later batches must arrive');
      expect(seen.given[0]).toBe('1,2');
      expect(seen.given.slice(1).join()).toBe('1,2,3');
      expect(errors()).toEqual([text]);
    },
  );

  it('continues after a failure that an exception filter handles', async () => {
    const { given, once } = failingOnce();
    @Catch(TypeError)
    class Forgiving {
      catch(): Observable<never> {
        return EMPTY;
      }
    }
    @Controller()
    @UseFilters(ErrorAsItIs, Forgiving)
    class Forgiven {
      @EventPattern(pattern)
      take(@Payload() batch: BusBatch): void {
        once(batch, () => {
          throw new TypeError('forgiven');
        });
      }
    }
    const { app, publish, errors } = await serve(Forgiven);
    await app.listen();
    await publish('1');
    await eventually(() => given.length === 1, WITHIN_MS, 'the batch must arrive');
    await publish('2');
    await eventually(() => given.length === 2, WITHIN_MS, 'the next batch must arrive');
    expect(given).toEqual(['1', '2']);
    expect(errors()).toEqual([]);
  });

  it('begins at startAt, which it retries until it answers, and resumes where it was when the bus fails', async () => {
    const given: string[] = [];
    @Controller()
    class Taker {
      @EventPattern(pattern)
      take(@Payload() batch: BusBatch): void {
        given.push(valuesOf(batch));
      }
    }
    const messageBus = new BreakingBus();
    let calls = 0;
    const startAt = async () => {
      calls += 1;
      if (calls === 1) throw new Error('no start yet');
      const partition = messageBus.partitionOf(topic, 'k');
      return new Map(await messageBus.offsets(topic, 'earliest')).set(partition, '1');
    };
    const { app, publish, errors } = await serve(Taker, { messageBus, startAt });
    messageBus.breaks = 2;
    await publish('0', '1', '2', '3', '4');
    await app.listen();
    await eventually(() => given.length >= 4, WITHIN_MS, 'all batches must arrive');
    // The batch before a failure was handled, and may be delivered again.
    expect([...new Set(given)]).toEqual(['1', '2', '3', '4']);
    expect(errors()).toEqual(['no start yet', 'the bus failed']);
    expect(calls).toBe(2);
  });

  it('calls startAt again when the topic was replaced, and logs that', async () => {
    const given: string[] = [];
    @Controller()
    class Taker {
      @EventPattern(pattern)
      take(@Payload() batch: BusBatch): void {
        given.push(valuesOf(batch));
      }
    }
    const messageBus = new MemoryMessageBus();
    const partition = messageBus.partitionOf(topic, 'k');
    const starts = [new Map([[partition, '7']])];
    const startAt = async () => starts.shift() ?? (await messageBus.offsets(topic, 'earliest'));
    const { app, server, publish, errors } = await serve(Taker, { messageBus, startAt });
    await publish('1', '2');
    await app.listen();
    await eventually(
      () => given.length === 1 && server.isFollowing,
      WITHIN_MS,
      'the messages of the new topic must arrive',
    );
    expect(given).toEqual(['1,2']);
    expect(errors()).toEqual([`partition ${String(partition)} of test.topic ends before 7: the topic was replaced`]);
  });

  it('aborts the signal of the handler when it closes, waits for it, and gives no more batches', async () => {
    const given: string[] = [];
    let isDone = false;
    @Controller()
    class Waiting {
      @EventPattern(pattern)
      async take(@Payload() batch: BusBatch, @Ctx() { signal }: BatchContext): Promise<void> {
        given.push(valuesOf(batch));
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
        isDone = true;
      }
    }
    const { app, publish } = await serve(Waiting);
    await app.listen();
    await publish('1');
    await eventually(() => given.length === 1, WITHIN_MS, 'the batch must arrive');
    await publish('2');
    await app.close();
    expect(isDone).toBe(true);
    expect(given).toEqual(['1']);
  });

  it.each([
    ['its first offsets', () => SILENT],
    ['the end of the topic', undefined],
  ])('closes at once while it waits for %s', async (_what, startAt) => {
    @Controller()
    class Unused {
      @EventPattern(pattern)
      take(): void {
        // Never called.
      }
    }
    const messageBus = new MemoryMessageBus();
    const { app } = await serve(Unused, { messageBus, startAt: startAt ?? (() => Promise.resolve(new Map())) });
    const called = Promise.withResolvers<undefined>();
    messageBus.offsets = () => {
      called.resolve(undefined);
      return SILENT;
    };
    await app.listen();
    if (!startAt) await called.promise;
    await app.close();
  });

  it('runs each batch between the processing hooks, whatever the batch returns', async () => {
    const seen: string[] = [];
    @Controller()
    @UseFilters(ErrorAsItIs)
    class Traced {
      @EventPattern(pattern)
      take(@Payload() batch: BusBatch): void {
        seen.push(valuesOf(batch));
        if (seen.length === 2) broken();
      }
    }
    const { app, server, publish } = await serve(Traced);
    server.setOnProcessingStartHook((_id, _context, done) => {
      seen.push('start');
      void done();
    });
    server.setOnProcessingEndHook(() => seen.push('end'));
    await app.listen();
    await publish('1');
    await eventually(() => seen.length === 6, WITHIN_MS, 'the batch must be given twice');
    expect(seen).toEqual(['start', '1', 'end', 'start', '1', 'end']);
  });

  it('does not start with a handler that it cannot serve', async () => {
    @Controller()
    class Elsewhere {
      @EventPattern(['other.topic'])
      take(): void {
        // Never called.
      }
    }
    @Controller()
    class RequestHandler {
      @MessagePattern(topic.name)
      take(): void {
        // Never called.
      }
    }
    @Controller()
    class Twice {
      @EventPattern(pattern)
      first(): void {
        // Never called.
      }

      @EventPattern(pattern)
      second(): void {
        // Never called.
      }
    }
    await expect((await serve(Elsewhere)).app.listen()).rejects.toThrow('there are no batches of other.topic');
    await expect((await serve(RequestHandler)).app.listen()).rejects.toThrow('there are no batches of test.topic');
    await expect((await serve(Twice)).app.listen()).rejects.toThrow('two handlers for test.topic');
  });
});
