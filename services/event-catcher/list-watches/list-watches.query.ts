import { Query } from '@nestjs/cqrs';
import type { WatchedContract, WatchedContracts } from '../../../schemas/http/event-catcher-routes.ts';

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

export class GetWatch extends Query<WatchedContract> {
  constructor(readonly id: string) {
    super();
  }
}
