import type { ChainProgressEvent } from '../../../schemas/events/chain-events.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import type { ChainDocument } from '../../../schemas/read-models/chains.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import type { Projection } from '../run-projection/projection.ts';

const { projection: name, collection } = readModels.chains;

/** How far each chain has been followed, by chain id. */
export const chainsProjection: Projection = {
  name,
  eventTypes: ['ChainAdvanced'],
  touches: (event) => [{ collection, id: String((event as StoredEvent & ChainProgressEvent).data.chainId) }],
  evolve: (stored) => {
    const { chainId, head, finalized, window, backfills, watchesUpTo } = (stored as StoredEvent & ChainProgressEvent)
      .data;
    const headTime = toIso((window.at(-1)?.timestamp ?? 0) * 1_000);
    const document: ChainDocument = { chainId, head, headTime, finalized, backfills, watchesUpTo };
    return [{ collection, id: String(chainId), document }];
  },
};
