import { claimsOf } from '../chain/identifiers/claimant.ts';
import { filtersByName, type WatchSelector } from '../chain/identifiers/watch-names.ts';
import { watchesModel, type WatchDocument } from '../read-models/event-catcher/watches.ts';
import type { ReadStore } from '../read-store/read-store.ts';

const { watch } = watchesModel.collections;

/** This many of the oldest watches decide what a name means, and whether several events have it. */
export const NAMED_MAX = 100;
/** Maximum watches searched by a request without an event name. */
export const UNNAMED_MAX = 10_000;

/**
 * Returns the watches of a contract from which `selectWatches` selects the requested ones: the oldest that the caller
 * claims, the oldest that the caller's app claims, and the oldest of all. Anybody can register thousands of fragments
 * of one event, so each group is queried separately, with a limit.
 */
export const findMeantWatches = async (
  readStore: Pick<ReadStore, 'find' | 'getMany'>,
  { chainId, contractAddress }: { chainId: number; contractAddress: string },
  { name, watchId, caller }: WatchSelector,
): Promise<WatchDocument[]> => {
  const ofContract = { chainId, contractAddress, isRemoved: false };
  if (watchId !== undefined) {
    const stored = (await readStore.getMany(watch.name, [watchId])).values();
    return stored
      .map(({ document }) => watch.document.parse(document))
      .filter((found) => found.chainId === chainId && found.contractAddress === contractAddress && !found.isRemoved)
      .toArray();
  }
  const since = [...claimsOf(caller).map((claim) => `claimPositions.${claim}`), 'claimedSince'];
  const limit = name === undefined ? UNNAMED_MAX : NAMED_MAX;
  const filters = name === undefined ? [{}] : filtersByName(name);
  const found = await Promise.all(
    since.flatMap((member) =>
      filters.map((filter) =>
        readStore.find(watch.name, {
          filter: { ...ofContract, ...filter, [member]: { gte: 0 } },
          sort: [[member, 'asc']],
          limit,
        }),
      ),
    ),
  );
  // The first copy of a watch counts, the caller's own, because a reader may have kept the later ones for a while.
  const documents = new Map(
    found
      .flat()
      .reverse()
      .map(({ id, document }) => [id, document]),
  );
  return Array.from(documents.values(), (document) => watch.document.parse(document));
};
