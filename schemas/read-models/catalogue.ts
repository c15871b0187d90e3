/** Where a query looks, and the projection whose position says how far that is. */
export const readModels = {
  users: { projection: 'users-v1', collection: 'users' },
  sessions: { projection: 'sessions-v1', collection: 'sessions' },
  apps: { projection: 'apps-v1', collection: 'apps' },
  history: { projection: 'history-v1', collection: 'history' },
  historyHeads: { projection: 'history-v1', collection: 'history-heads' },
  watches: { projection: 'watches-v1', collection: 'watches' },
  chainEvents: { projection: 'chain-events-v1', collection: 'chain-events' },
  chainEventCounts: { projection: 'chain-events-v1', collection: 'chain-event-counts' },
  chains: { projection: 'chains-v1', collection: 'chains' },
} as const;

/** Every collection with the members that queries filter and sort by, indexed together in this order. */
export const collections = [
  { name: readModels.users.collection, indexes: [] },
  { name: readModels.sessions.collection, indexes: [['userId']] },
  { name: readModels.apps.collection, indexes: [] },
  { name: readModels.history.collection, indexes: [['userId', 'sequence']] },
  { name: readModels.historyHeads.collection, indexes: [] },
  { name: readModels.watches.collection, indexes: [['chainId', 'contractAddress']] },
  { name: readModels.chainEvents.collection, indexes: [['ContractAddress', 'observedPosition', 'BlockNumber']] },
  { name: readModels.chainEventCounts.collection, indexes: [] },
  { name: readModels.chains.collection, indexes: [] },
] as const;
