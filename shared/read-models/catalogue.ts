import { appsModel } from './apps.ts';
import { chainEventsModel } from './chain-events.ts';
import { chainsModel } from './chains.ts';
import { historyModel } from './history.ts';
import type { ReadModel } from './read-model.ts';
import { reservationsModel } from './reservations.ts';
import { sessionsModel } from './sessions.ts';
import { transactionsModel } from './transactions.ts';
import { usersModel } from './users.ts';
import { watchesModel } from './watches.ts';

/** Every read model. */
export const readModels: readonly ReadModel[] = [
  usersModel,
  sessionsModel,
  appsModel,
  historyModel,
  watchesModel,
  chainEventsModel,
  chainsModel,
  transactionsModel,
  reservationsModel,
];

/** The collections of all of them. */
export const collections = readModels.flatMap((model) => Object.values(model.collections));
