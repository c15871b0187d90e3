import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { WatchEvent } from '../../../schemas/events/event-catcher/watch-events.ts';
import { watchedContract, type WatchedContract } from '../../../schemas/http/event-catcher/watched-contract.ts';
import type { Claimant } from '../../../shared/chain/identifiers/claimant.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Watch } from '../../../shared/read-models/event-catcher/watches.ts';
import { pauseWatch, removeClaim, resumeWatch } from '../domain/watches/stopped-watch.ts';
import { askedStream, watchFold } from '../domain/watches/watch.ts';
import { WatchQuotas } from '../edge/watch-quotas.ts';
import { WatchStatuses } from '../edge/watch-statuses.ts';

interface Asked {
  watchId: string;
  claimant: Claimant;
}

/** Drops a claim on a watch. */
export class RemoveContract extends Command<Position> {
  constructor(
    readonly asked: Asked,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

/** Pauses a watch, or resumes it. */
export class PauseContract extends Command<{ contract: WatchedContract; position: Position }> {
  constructor(
    readonly asked: Asked & { isPaused: boolean },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

const changeWatch = async (
  transactor: Transactor,
  asked: Asked,
  metadata: EventMetadata,
  decide: (watch: Watch | undefined) => WatchEvent[],
): Promise<{ watch: Watch; position: Position }> => {
  const { state, position } = await transactor.transact({
    stream: askedStream(asked.watchId),
    fold: watchFold,
    metadata,
    decide,
  });
  if (!state) throw new Refusal('watch_not_found', 'no registration has this id');
  return { watch: state, position };
};

@CommandHandler(RemoveContract)
export class RemoveContractHandler implements ICommandHandler<RemoveContract> {
  constructor(
    private readonly transactor: Transactor,
    private readonly quotas: WatchQuotas,
  ) {}

  async execute({ asked, metadata }: RemoveContract): Promise<Position> {
    const { watchId, claimant } = asked;
    const remove = (watch: Watch | undefined) => removeClaim(watch, claimant);
    const { position } = await changeWatch(this.transactor, asked, metadata, remove);
    await this.quotas.return({ watchId, ...claimant }, metadata);
    return position;
  }
}

@CommandHandler(PauseContract)
export class PauseContractHandler implements ICommandHandler<PauseContract> {
  constructor(
    private readonly transactor: Transactor,
    private readonly statuses: WatchStatuses,
  ) {}

  async execute({ asked, metadata }: PauseContract) {
    const by = { kind: 'claimant', claimant: asked.claimant } as const;
    const { watch, position } = await changeWatch(this.transactor, asked, metadata, (known) =>
      asked.isPaused ? pauseWatch(known, by) : resumeWatch(known, by),
    );
    const contract = watchedContract.parse({ ...watch, state: await this.statuses.stateOf(watch) });
    return { contract, position };
  }
}
