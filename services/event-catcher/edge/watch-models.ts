import { Inject, Injectable } from '@nestjs/common';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { WatchSelector } from '../../../shared/chain/watch-names.ts';
import { findMeantWatches } from '../../../shared/edge/meant-watches.ts';
import { Projections } from '../../../shared/edge/projections.ts';
import { READ_STORE } from '../../../shared/edge/tokens.ts';
import { chainsModel, type ChainDocument, type VerificationDocument } from '../../../shared/read-models/chains.ts';
import { watchesModel, type WatchDocument } from '../../../shared/read-models/watches.ts';
import { withAside } from '../domain/watch-progress.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

const { watch } = watchesModel.collections;
const { chain, verification, aside } = chainsModel.collections;

/** Finds watches, and how far their chains were read. */
@Injectable()
export class WatchModels {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: Projections,
  ) {}

  /**
   * Returns the watches of a contract that may be meant, none if what is registered has other names.
   * @throws Refusal watch_not_found, not_caught_up
   */
  async ofContract(
    contract: { chainId: number; contractAddress: string },
    selector: WatchSelector,
  ): Promise<WatchDocument[]> {
    const isById = selector.watchId !== undefined;
    const found = await this.models.find(watchesModel.name, async () => {
      const meant = await findMeantWatches(this.readStore, contract, selector);
      if (meant.length > 0) return meant;
      const isRegistered = !isById && (await this.isRegistered(contract));
      return isRegistered ? meant : undefined;
    });
    if (!found) {
      const what = isById ? 'this contract has no such watchId' : 'no event of this contract is registered';
      throw new Refusal('watch_not_found', `${what} on this chain`);
    }
    return found;
  }

  private async isRegistered({ chainId, contractAddress }: { chainId: number; contractAddress: string }) {
    const filter = { chainId, contractAddress, isRemoved: false };
    return (await this.readStore.find(watch.name, { filter, limit: 1 })).length > 0;
  }

  /** @throws Refusal watch_not_found, not_caught_up */
  async byId(id: string): Promise<WatchDocument> {
    const found = await this.models.find(watchesModel.name, async () => {
      const watch = await this.findProjected(id);
      return watch?.isRemoved === false ? watch : undefined;
    });
    if (!found) throw new Refusal('watch_not_found', 'no registration has this id');
    return found;
  }

  /** Returns `undefined` if the read model does not have the watch, possibly not yet. */
  async findProjected(id: string): Promise<WatchDocument | undefined> {
    const stored = (await this.readStore.getMany(watch.name, [id])).get(id);
    return stored && watch.document.parse(stored.document);
  }

  /** Returns `undefined` if the chain has not been read yet. */
  async chain(chainId: number): Promise<ChainDocument | undefined> {
    const id = String(chainId);
    const stored = (await this.readStore.getMany(chain.name, [id])).get(id);
    return stored && chain.document.parse(stored.document);
  }

  /** The same, with what is set aside of these watches as ranges of the chain. */
  async chainOf(chainId: number, watchIds: readonly string[]): Promise<ChainDocument | undefined> {
    return this.withAsideOf(await this.chain(chainId), watchIds);
  }

  /** Adds what is set aside of these watches to the ranges of a chain. */
  async withAsideOf(chain: ChainDocument | undefined, watchIds: readonly string[]): Promise<ChainDocument | undefined> {
    if (!chain) return undefined;
    // Read after the chain: ranges that it does not have any more are set aside by then.
    const stored = await this.readStore.getMany(aside.name, watchIds);
    return withAside(chain, new Map(Array.from(stored, ([id, { document }]) => [id, aside.document.parse(document)])));
  }

  /** Returns `undefined` if nothing of the chain has been verified yet. */
  async verification(chainId: number): Promise<VerificationDocument | undefined> {
    const id = String(chainId);
    const stored = (await this.readStore.getMany(verification.name, [id])).get(id);
    return stored && verification.document.parse(stored.document);
  }
}
