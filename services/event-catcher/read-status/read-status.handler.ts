import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { WatchStatus } from '../../../schemas/http/event-catcher/watched-contract.ts';
import { readAddressMember } from '../../../shared/chain/identifiers/address.ts';
import { findNamed } from '../../../shared/chain/identifiers/watch-names.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { WatchModels } from '../edge/watch-models.ts';
import { WatchStatuses } from '../edge/watch-statuses.ts';

export class ReadStatus extends Query<WatchStatus> {
  constructor(
    readonly asked: { chainId: number; contractAddress: string; eventName: string; watchId?: string | undefined },
  ) {
    super();
  }
}

@QueryHandler(ReadStatus)
export class ReadStatusHandler implements IQueryHandler<ReadStatus> {
  constructor(
    private readonly models: WatchModels,
    private readonly statuses: WatchStatuses,
  ) {}

  async execute({ asked }: ReadStatus): Promise<WatchStatus> {
    const { chainId, eventName: name, watchId } = asked;
    const contractAddress = readAddressMember('contractAddress', asked.contractAddress, [chainId]);
    const watches = await this.models.ofContract({ chainId, contractAddress }, { name, watchId });
    const watch = findNamed(watches, 'eventName', { name, watchId });
    if (!watch) throw new Refusal('watch_not_found', 'the contract has no registered event of this name or signature');
    return this.statuses.statusOf(watch);
  }
}
