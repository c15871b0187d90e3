import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { WatchedContracts } from '../../../schemas/http/event-catcher-routes.ts';
import type { WatchedContract } from '../../../schemas/http/watched-contract.ts';
import { READ_STORE } from '../../../shared/edge/tokens.ts';
import { watchesModel } from '../../../shared/read-models/watches.ts';
import { CHAINS_WITH_CHECKSUMS, readAddressMember } from '../../../shared/chain/address.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { FOLLOWER_STATUS, type FollowerStatus } from '../edge/ports.ts';
import { watchAnswer } from '../edge/watch-answer.ts';
import { WatchModels } from '../edge/watch-models.ts';

export class ListWatches extends Query<WatchedContracts> {
  constructor(
    readonly asked: {
      chainId?: number | undefined;
      contractAddress?: string | undefined;
      take: number;
      skip: number;
    },
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
    @Inject(FOLLOWER_STATUS) private readonly follower: FollowerStatus,
  ) {}

  async execute({ asked }: ListWatches): Promise<WatchedContracts> {
    const { chainId, contractAddress, take, skip } = asked;
    const chainIds = chainId === undefined ? CHAINS_WITH_CHECKSUMS : [chainId];
    const filter = {
      isRemoved: false,
      ...(chainId !== undefined && { chainId }),
      ...(contractAddress !== undefined && {
        contractAddress: readAddressMember('contractAddress', contractAddress, chainIds),
      }),
    };
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
      items: watches.map((watch) => watchAnswer(watch, chains.get(watch.chainId), this.follower)),
      take,
      skip,
      total,
    };
  }
}

export class GetWatch extends Query<WatchedContract> {
  constructor(readonly id: string) {
    super();
  }
}

@QueryHandler(GetWatch)
export class GetWatchHandler implements IQueryHandler<GetWatch> {
  constructor(
    private readonly models: WatchModels,
    @Inject(FOLLOWER_STATUS) private readonly follower: FollowerStatus,
  ) {}

  async execute({ id }: GetWatch): Promise<WatchedContract> {
    const watch = await this.models.byId(id);
    return watchAnswer(watch, await this.models.chainOf(watch.chainId, [id]), this.follower);
  }
}
