import { Controller, UseFilters } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { topics } from '../../../schemas/topics.ts';
import type { BusBatch } from '../../../shared/message-bus/message-bus.ts';
import { ErrorAsItIs } from '../../../shared/message-bus/consumers/batch-server.ts';
import { EventCounts } from './event-counts.sqlite.ts';

@Controller()
@UseFilters(ErrorAsItIs)
export class CountEventsConsumer {
  constructor(private readonly counts: EventCounts) {}

  @EventPattern(topics.chainEvents.name)
  async take(@Payload() batch: BusBatch): Promise<void> {
    await this.counts.take(batch);
  }
}
