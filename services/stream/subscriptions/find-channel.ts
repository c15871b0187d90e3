import type { Subscribe } from '../../../schemas/socket/stream-commands.ts';
import { claimantText, type Claimant } from '../../../shared/chain/identifiers/claimant.ts';
import { findMeantWatches } from '../../../shared/edge/meant-watches.ts';
import type { Projections } from '../../../shared/edge/answers/projections.ts';
import { watchesModel, type WatchDocument } from '../../../shared/read-models/event-catcher/watches.ts';
import { readAddressMember } from '../../../shared/chain/identifiers/address.ts';
import { findNamed } from '../../../shared/chain/identifiers/watch-names.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { getOrLoad, TtlCache } from '../../../shared/primitives/ttl-cache.ts';
import type { FindOptions, ReadStore, StoredDocument } from '../../../shared/read-store/read-store.ts';
import type { Channel } from '../domain/channel.ts';

interface Found {
  channel: Channel;
  watch: WatchDocument;
}

/** How long the watches that are not a subscriber's own are kept. A watch that was removed since then ends its subscriptions. */
const KEPT_MS = 500;
const KEPT_MAX = 1_000;

/** Finds the registered event that a subscriber names. */
export class FindChannel {
  /** Those of an app and of everybody: clients that return at once ask for the same ones. */
  private readonly shared: TtlCache<Promise<StoredDocument[]>>;

  constructor(
    private readonly readStore: ReadStore,
    private readonly projections: Projections,
    clock: Pick<Clock, 'elapsed'>,
  ) {
    this.shared = new TtlCache(clock, { max: KEPT_MAX, ttlMs: KEPT_MS });
  }

  /** @throws Refusal watch_not_found, not_caught_up; validation_failed if the name fits two events */
  async find({ chainId, contractAddress, ...asked }: Subscribe, caller: Claimant | undefined): Promise<Found> {
    const address = readAddressMember('contractAddress', contractAddress, [chainId]);
    const watch = await this.projections.find(watchesModel.name, async () => {
      const selector = { name: asked.eventSignature, watchId: asked.watchId, caller };
      const store = {
        getMany: this.readStore.getMany.bind(this.readStore),
        find: (collection: string, options: FindOptions) => this.findWatches(collection, options, caller),
      };
      const watches = await findMeantWatches(store, { chainId, contractAddress: address }, selector);
      return findNamed(watches, 'eventSignature', selector);
    });
    if (!watch) throw new Refusal('watch_not_found', 'register this event of the contract first');
    const { id: watchId, eventSignature } = watch;
    const { finality } = asked;
    return { channel: { watchId, chainId, contractAddress: address, eventSignature, finality }, watch };
  }

  /** Forgets the watches read so far, because one has changed: a new subscription must not get its old state. */
  forget(): void {
    this.shared.clear();
  }

  /** The caller's own watches are read each time, because the caller may just have registered one. */
  private async findWatches(
    collection: string,
    options: FindOptions,
    caller: Claimant | undefined,
  ): Promise<StoredDocument[]> {
    const read = () => this.readStore.find(collection, options);
    if (caller && Object.hasOwn(options.filter ?? {}, `claimPositions.${claimantText(caller)}`)) return read();
    const key = JSON.stringify(options);
    const found = await getOrLoad(this.shared, key, read);
    if (found.length === 0) this.shared.delete(key);
    return found;
  }
}
