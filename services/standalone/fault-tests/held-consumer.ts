import 'reflect-metadata';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EventPattern, Payload } from '@nestjs/microservices';
import { pino } from 'pino';
import { topics } from '../../../schemas/topics.ts';
import type { BusBatch, BusMessage, MessageBus } from '../../../shared/message-bus/message-bus.ts';
import { BatchServer } from '../../../shared/message-bus/batch-server.ts';

/** A consumer of chain events from the first on, whose handler comes back only when it is let go. */
export class HeldConsumer {
  /** In the order in which they came. */
  readonly given: BusMessage[] = [];

  private constructor(
    readonly letGo: () => void,
    private readonly closing: () => Promise<void>,
  ) {}

  static async start(messageBus: MessageBus): Promise<HeldConsumer> {
    const { promise: held, resolve } = Promise.withResolvers<undefined>();
    @Controller()
    class Held {
      @EventPattern([topics.chainEvents.name])
      async take(@Payload() { messages }: BusBatch): Promise<void> {
        for (const message of messages) consumer.given.push(message);
        await held;
      }
    }
    @Module({ controllers: [Held] })
    class Root {}
    const strategy = new BatchServer({
      messageBus,
      logger: pino({ level: 'silent' }),
      topics: [topics.chainEvents],
      startAt: (topic) => messageBus.offsets(topic, 'earliest'),
    });
    const app = await NestFactory.createMicroservice(Root, { strategy, logger: false, abortOnError: false });
    const consumer = new HeldConsumer(
      () => {
        resolve(undefined);
      },
      () => app.close(),
    );
    await app.listen();
    return consumer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.letGo();
    await this.closing();
  }
}
