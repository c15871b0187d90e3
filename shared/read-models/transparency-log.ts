import type { CollectionDefinition } from '../read-store/read-store.ts';

/** The name of the transparency log's checkpoint in the read store. A tree of other leaves needs another name. */
export const LOG = 'log-v1';

/** `<level>/<index>` → `{hashes}`, in base64. */
export const logTiles = { name: 'log-tiles-v1', indexes: [] } satisfies CollectionDefinition;

/** Index of a tile of leaves → `{from}`: the position of the event that is its first leaf. */
export const logPlaces = { name: 'log-places-v1', indexes: [['from']] } satisfies CollectionDefinition;

/** `newest` → `{size, root}`: the number of leaves, and the root in base64. */
export const logStates = { name: 'log-states-v1', indexes: [] } satisfies CollectionDefinition;

/** The name of the seals' checkpoint in the read store: the position of the newest seal whose tiles are stored. */
export const SEALS = 'seals-v1';

/**
 * The trees of the two newest seals. `<0 or 1>/<level>/<index>` → `{of, first, hashes}`: `of` is `<0 or 1>/<level>`, `first` the
 * hash of the user id of the first leaf, empty above the leaves.
 */
export const sealTiles = { name: 'seal-tiles-v1', indexes: [['of', 'first']] } satisfies CollectionDefinition;

/** `newest` → `{revision, slot}`: of the seal's event in the stream `log`, and which of the two slots has its tree. */
export const sealStates = { name: 'seal-states-v1', indexes: [] } satisfies CollectionDefinition;

/** The name of the cosignatures' checkpoint in the read store: the position of the newest log checkpoint shown to witnesses. */
export const COSIGNATURES = 'log-cosignatures-v1';

/**
 * `shown` → `{size, root}`: the newest log checkpoint that was shown to the witnesses. `<vkey of a witness>` → `{size, line}`:
 * the line of its newest cosignature, and the size of the checkpoint.
 */
export const logCosignatures = { name: 'log-cosignatures-v1', indexes: [] } satisfies CollectionDefinition;
