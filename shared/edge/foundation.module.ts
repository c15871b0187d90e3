import { Module, type DynamicModule } from '@nestjs/common';
import { Transactor } from '../event-store/transactions/transact.ts';
import { PersonalData } from '../key-vault/personal-data.ts';
import type { Foundation, WithKeyVault, WithMessageBus, WithPersonalData } from '../host/foundation.ts';
import {
  ANSWERS_KEY,
  CLOCK,
  EDGE_KEY,
  EVENT_STORE,
  IDS,
  LOGGER,
  MASTER_KEY,
  MESSAGE_BUS,
  READ_STORE,
  SETTINGS,
} from './tokens.ts';

/** Of a service that makes parts before its modules: both then share what is folded, and the queue of each stream. */
export interface WithTransactor {
  transactor: Transactor;
}

@Module({})
class FoundationModule {}

/** Binds the tokens of `tokens.ts` and `Transactor` for every module of one application. */
export const foundationModule = (
  foundation: Foundation & Partial<WithMessageBus & WithPersonalData & WithKeyVault & WithTransactor>,
): DynamicModule => {
  const { settings, logger, clock, ids, edgeKey, masterKey, eventStore, readStore, messageBus, personalData } =
    foundation;
  const { transactor = new Transactor(eventStore, clock, ids, personalData) } = foundation;
  const providers = [
    { provide: SETTINGS, useValue: settings },
    { provide: LOGGER, useValue: logger },
    { provide: CLOCK, useValue: clock },
    { provide: IDS, useValue: ids },
    { provide: EDGE_KEY, useValue: edgeKey },
    { provide: ANSWERS_KEY, useValue: masterKey ?? edgeKey },
    ...(masterKey ? [{ provide: MASTER_KEY, useValue: masterKey }] : []),
    { provide: EVENT_STORE, useValue: eventStore },
    { provide: READ_STORE, useValue: readStore },
    ...(messageBus ? [{ provide: MESSAGE_BUS, useValue: messageBus }] : []),
    { provide: Transactor, useValue: transactor },
    ...(personalData ? [{ provide: PersonalData, useValue: personalData }] : []),
  ];
  return { module: FoundationModule, global: true, providers, exports: providers };
};
