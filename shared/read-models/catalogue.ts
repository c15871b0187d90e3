import { appsModel } from './account/apps.ts';
import { chainEventsModel } from './event-catcher/chain-events.ts';
import { chainsModel } from './event-catcher/chains.ts';
import { historyModel } from './account/history.ts';
import type { ReadModel } from './read-model.ts';
import { reservationsModel } from './onchain/reservations.ts';
import { sessionsModel } from './account/sessions.ts';
import { transactionsModel } from './onchain/transactions.ts';
import { logCosignatures, logPlaces, logStates, logTiles, sealStates, sealTiles } from './transparency-log.ts';
import { trailsModel } from './trails.ts';
import { userReferencesModel } from './account/user-references.ts';
import { userSnapshotsModel } from './account/user-snapshots.ts';
import { usersModel } from './account/users.ts';
import { verifications } from './verifications.ts';
import { watchStatesModel } from './event-catcher/watch-states.ts';
import { watchesModel } from './event-catcher/watches.ts';

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
  userReferencesModel,
  watchStatesModel,
  trailsModel,
  userSnapshotsModel,
];

/** The collections of all read models, of the transparency log, of the seals of histories, and of verifications. */
export const collections = [
  ...readModels.flatMap((model) => Object.values(model.collections)),
  ...[logTiles, logPlaces, logStates, logCosignatures, sealTiles, sealStates, verifications],
];
