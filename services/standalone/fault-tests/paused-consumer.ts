import 'reflect-metadata';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EventPattern, Payload } from '@nestjs/microservices';
import { pino } from 'pino';
import { topics } from '../../../schemas/topics.ts';
import type { BusBatch, BusMessage, MessageBus } from '../../../shared/message-bus/message-bus.ts';
import { BatchServer } from '../../../shared/message-bus/consumers/batch-server.ts';

/** A consumer of chain events from the first one on, whose handler does not return before `resume`. */
export class PausedConsumer {
  /** In the order of their arrival. */
  readonly received: BusMessage[] = [];

  private constructor(
    readonly resume: () => void,
    private readonly closing: () => Promise<void>,
  ) {}

  static async start(messageBus: MessageBus): Promise<PausedConsumer> {
    const { promise: resumed, resolve } = Promise.withResolvers<undefined>();
    @Controller()
    class PausedController {
      @EventPattern([topics.chainEvents.name])
      async take(@Payload() { messages }: BusBatch): Promise<void> {
        for (const message of messages) consumer.received.push(message);
        await resumed;
      }
    }
    @Module({ controllers: [PausedController] })
    class Root {}
    const strategy = new BatchServer({
      messageBus,
      logger: pino({ level: 'silent' }),
      topics: [topics.chainEvents],
      startAt: (topic) => messageBus.offsets(topic, 'earliest'),
    });
    const app = await NestFactory.createMicroservice(Root, { strategy, logger: false, abortOnError: false });
    const consumer = new PausedConsumer(
      () => {
        resolve(undefined);
      },
      () => app.close(),
    );
    await app.listen();
    return consumer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.resume();
    await this.closing();
  }
}
