import { claimantText } from '../chain/claimant.ts';
import { filtersByName, type WatchSelector } from '../chain/watch-names.ts';
import { watchesModel, type WatchDocument } from '../read-models/watches.ts';
import type { ReadStore } from '../read-store/read-store.ts';

const { watch } = watchesModel.collections;

/** So many of the oldest watches decide what a name means, and whether it is the name of several events. */
const NAMED_MAX = 100;
/** So many of the oldest are searched by a request that names no event. */
const UNNAMED_MAX = 10_000;

/**
 * Returns the watches of a contract among which `selectWatches` finds those that a request means: the oldest that the
 * caller claims, the oldest that the caller's app claims, and the oldest of all. Anybody can register thousands of
 * fragments of one event, so each of these is asked for by itself, and only so many are read.
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
  const claims = caller ? new Set([claimantText(caller), claimantText({ ...caller, userId: null })]) : [];
  const since = [...Array.from(claims, (claim) => `claimPositions.${claim}`), 'claimedSince'];
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
  const documents = new Map(found.flat().map(({ id, document }) => [id, document]));
  return Array.from(documents.values(), (document) => watch.document.parse(document));
};
