import { Module } from '@nestjs/common';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { MessageBus } from '../../shared/message-bus/message-bus.ts';
import { createWorker, type RunningWorker } from '../../shared/host/create-worker.ts';
import { Followers } from '../../shared/loops/checkpoint-loops.ts';
import type { WithMessageBus, WorkerFoundation } from '../../shared/host/foundation.module.ts';
import { EVENT_STORE, LOGGER, MESSAGE_BUS, READ_STORE } from '../../shared/host/tokens.ts';
import type { Logger } from '../../shared/host/logger.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import { RELAY_CHECKPOINT } from './publish-events/checkpoint.ts';
import { relayLoop } from './publish-events/relay-loop.ts';

/** The only writer of the message bus. */
@Module({
  providers: [
    {
      provide: Followers,
      useFactory: (eventStore: EventStore, messageBus: MessageBus, readStore: ReadStore, logger: Logger) => {
        const loop = relayLoop({ eventStore, messageBus, readStore, logger });
        return new Followers([{ checkpoint: RELAY_CHECKPOINT, loop }], eventStore, readStore);
      },
      inject: [EVENT_STORE, MESSAGE_BUS, READ_STORE, LOGGER],
    },
  ],
  exports: [Followers],
})
class RelayModule {}

/** Starts the relay. Ready when all that was stored is published, or it stands by. */
export const startRelay = (foundation: WorkerFoundation & WithMessageBus): Promise<RunningWorker> =>
  createWorker(RelayModule, foundation);
