import { Inject, Injectable } from '@nestjs/common';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { z } from 'zod';
import type { WatchSelector } from '../../../shared/chain/identifiers/watch-names.ts';
import { findMeantWatches } from '../../../shared/edge/meant-watches.ts';
import { Projections } from '../../../shared/edge/answers/projections.ts';
import { READ_STORE } from '../../../shared/edge/tokens.ts';
import { chainEventsModel } from '../../../shared/read-models/event-catcher/chain-events.ts';
import {
  chainsModel,
  type ChainDocument,
  type VerificationDocument,
} from '../../../shared/read-models/event-catcher/chains.ts';
import { watchesModel, type WatchDocument } from '../../../shared/read-models/event-catcher/watches.ts';
import { withDeferred } from '../domain/watches/watch-progress.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

const { watch } = watchesModel.collections;
const { count } = chainEventsModel.collections;
const { chain, verification, aside: deferred } = chainsModel.collections;

/** Finds watches, and how far their chains have been read. */
@Injectable()
export class WatchModels {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: Projections,
  ) {}

  /**
   * Returns the watches of a contract that the caller may mean; none if the registered events have other names.
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
  findProjected(id: string): Promise<WatchDocument | undefined> {
    return this.read(watch, id);
  }

  /** How many records of a watch are not reverted. */
  async eventsTotal(id: string): Promise<number> {
    return (await this.read(count, id))?.canonical ?? 0;
  }

  /** Returns `undefined` if the chain has not been read yet. */
  chain(chainId: number): Promise<ChainDocument | undefined> {
    return this.read(chain, String(chainId));
  }

  /** The same, with the deferred ranges of these watches among the ranges of the chain. */
  async chainOf(chainId: number, watchIds: readonly string[]): Promise<ChainDocument | undefined> {
    return this.withDeferredOf(await this.chain(chainId), watchIds);
  }

  /** Adds the deferred ranges of these watches to the ranges of a chain. */
  async withDeferredOf(
    chain: ChainDocument | undefined,
    watchIds: readonly string[],
  ): Promise<ChainDocument | undefined> {
    if (!chain) return undefined;
    // Read after the chain, because a range that the chain no longer lists is deferred by then.
    const stored = await this.readStore.getMany(deferred.name, watchIds);
    return withDeferred(
      chain,
      new Map(Array.from(stored, ([id, { document }]) => [id, deferred.document.parse(document)])),
    );
  }

  /** Returns `undefined` if nothing of the chain has been verified yet. */
  verification(chainId: number): Promise<VerificationDocument | undefined> {
    return this.read(verification, String(chainId));
  }

  private async read<Document>(
    { name, document }: { name: string; document: z.ZodType<Document> },
    id: string,
  ): Promise<Document | undefined> {
    const stored = (await this.readStore.getMany(name, [id])).get(id);
    return stored && document.parse(stored.document);
  }
}
