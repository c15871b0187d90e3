import { Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { SupervisedLoop } from '../../shared/lifecycle/supervised-loop.ts';
import type { MessageBus } from '../../shared/message-bus/message-bus.ts';
import { EVENT_STORE, LOGGER, MESSAGE_BUS, READ_STORE } from '../../shared/nest/tokens.ts';
import type { Logger } from '../../shared/observability/logger.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import { relayLoop } from './publish-events/relay-loop.ts';

/** The only writer of the message bus. */
@Module({})
export class RelayModule implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: SupervisedLoop;

  constructor(
    @Inject(EVENT_STORE) eventStore: EventStore,
    @Inject(MESSAGE_BUS) messageBus: MessageBus,
    @Inject(READ_STORE) readStore: ReadStore,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.loop = relayLoop({ eventStore, messageBus, readStore, logger });
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }
}
