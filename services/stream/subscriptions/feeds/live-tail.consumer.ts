import { Controller, Inject, UseFilters } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { topics } from '../../../../schemas/topics.ts';
import type { BusBatch } from '../../../../shared/message-bus/message-bus.ts';
import { ErrorAsItIs } from '../../../../shared/message-bus/consumers/batch-server.ts';
import { LIVE_TAIL } from '../../edge/tokens.ts';
import type { LiveTail } from './live-tail.ts';

/** Receives the messages that the relay publishes. */
@Controller()
@UseFilters(ErrorAsItIs)
export class LiveTailConsumer {
  constructor(@Inject(LIVE_TAIL) private readonly tail: LiveTail) {}

  @EventPattern(topics.chainEvents.name)
  handleBatch(@Payload() batch: BusBatch): Promise<void> {
    return this.tail.handleBatch(batch);
  }
}
