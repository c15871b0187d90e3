import { Module, type DynamicModule } from '@nestjs/common';
import type { Logger } from 'pino';
import type { Settings } from '../config/settings.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { Transactor } from '../event-store/transact.ts';
import type { MessageBus } from '../message-bus/message-bus.ts';
import type { Clock } from '../primitives/clock.ts';
import type { Ids } from '../primitives/ids.ts';
import type { ReadStore } from '../read-store/read-store.ts';
import { CLOCK, EVENT_STORE, IDS, LOGGER, MASTER_KEY, MESSAGE_BUS, READ_STORE, SETTINGS } from './tokens.ts';

/** What a service is built on: what it uses, and no more. Whoever made it closes it, after the services. */
export interface Foundation {
  settings: Settings;
  logger: Logger;
  clock: Clock;
  ids: Ids;
  /** 32 bytes. */
  masterKey: Uint8Array;
  eventStore: EventStore;
  readStore: ReadStore;
}

export interface WithMessageBus {
  messageBus: MessageBus;
}

/** A part without a way in needs no key. */
export type WorkerFoundation = Omit<Foundation, 'masterKey'>;

@Module({})
class FoundationModule {}

/** Binds the tokens of `tokens.ts` and `Transactor` for every module of one application. */
export const foundationModule = (
  foundation: WorkerFoundation & Partial<Foundation & WithMessageBus>,
): DynamicModule => {
  const { settings, logger, clock, ids, masterKey, eventStore, readStore, messageBus } = foundation;
  const providers = [
    { provide: SETTINGS, useValue: settings },
    { provide: LOGGER, useValue: logger },
    { provide: CLOCK, useValue: clock },
    { provide: IDS, useValue: ids },
    ...(masterKey ? [{ provide: MASTER_KEY, useValue: masterKey }] : []),
    { provide: EVENT_STORE, useValue: eventStore },
    { provide: READ_STORE, useValue: readStore },
    ...(messageBus ? [{ provide: MESSAGE_BUS, useValue: messageBus }] : []),
    { provide: Transactor, useValue: new Transactor(eventStore, clock, ids) },
  ];
  return { module: FoundationModule, global: true, providers, exports: providers };
};
