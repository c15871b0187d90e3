import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { z } from 'zod';
import type { eventCatcherRoutes, WatchedContracts } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { queriedContract, type QueriedContract } from '../../../schemas/http/event-catcher/watched-contract.ts';
import { READ_STORE } from '../../../shared/edge/tokens.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { watchesModel, type WatchDocument } from '../../../shared/read-models/event-catcher/watches.ts';
import { CHAINS_WITH_CHECKSUMS, readAddressMember } from '../../../shared/chain/identifiers/address.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { EarlierWatches } from '../edge/earlier-watches.ts';
import { WatchModels } from '../edge/watch-models.ts';
import { WatchStatuses } from '../edge/watch-statuses.ts';

export class ListWatches extends Query<WatchedContracts> {
  constructor(
    readonly asked: z.output<typeof eventCatcherRoutes.listContracts.query>,
    /** Default: now. */
    readonly asOf: Position | undefined,
  ) {
    super();
  }
}

const { watch: watchCollection } = watchesModel.collections;

@QueryHandler(ListWatches)
export class ListWatchesHandler implements IQueryHandler<ListWatches> {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: WatchModels,
    private readonly statuses: WatchStatuses,
    private readonly earlier: EarlierWatches,
  ) {}

  async execute({ asked, asOf }: ListWatches): Promise<WatchedContracts> {
    const { chainId, contractAddress, take, skip } = asked;
    const chainIds = chainId === undefined ? CHAINS_WITH_CHECKSUMS : [chainId];
    const ofContract = {
      ...(chainId !== undefined && { chainId }),
      ...(contractAddress !== undefined && {
        contractAddress: readAddressMember('contractAddress', contractAddress, chainIds),
      }),
    };
    if (asOf !== undefined) {
      const { watches, total } = await this.earlier.list({ filter: ofContract, skip, take }, asOf);
      return { items: watches.map(earlierAnswerOf), take, skip, total };
    }
    const filter = { isRemoved: false, ...ofContract };
    const [found, total] = await Promise.all([
      this.readStore.find(watchCollection.name, { filter, sort: [['id', 'asc']], skip, limit: take }),
      this.readStore.count(watchCollection.name, filter),
    ]);
    const watches = found.map(({ document }) => watchCollection.document.parse(document));
    const idsByChain = Map.groupBy(watches, (watch) => watch.chainId);
    const chains = new Map(
      await Promise.all(
        Array.from(idsByChain, async ([id, ofChain]) => {
          const ids = ofChain.map((watch) => watch.id);
          return [id, await this.models.chainOf(id, ids)] as const;
        }),
      ),
    );
    return {
      items: watches.map((watch) => this.statuses.answerOf(watch, chains.get(watch.chainId))),
      take,
      skip,
      total,
    };
  }
}

export class GetWatch extends Query<QueriedContract> {
  constructor(
    readonly id: string,
    /** Default: now. */
    readonly asOf: Position | undefined,
  ) {
    super();
  }
}

@QueryHandler(GetWatch)
export class GetWatchHandler implements IQueryHandler<GetWatch> {
  constructor(
    private readonly models: WatchModels,
    private readonly statuses: WatchStatuses,
    private readonly earlier: EarlierWatches,
  ) {}

  async execute({ id, asOf }: GetWatch): Promise<QueriedContract> {
    if (asOf !== undefined) return earlierAnswerOf(await this.earlier.byId(id, asOf));
    const watch = await this.models.byId(id);
    return this.statuses.answerOf(watch, await this.models.chainOf(watch.chainId, [id]));
  }
}

/** How far a watch had been read is forgotten, so its state is known only if it was paused. */
const earlierAnswerOf = (watch: WatchDocument): QueriedContract =>
  queriedContract.parse({ ...watch, state: watch.paused === null ? null : 'paused' });
