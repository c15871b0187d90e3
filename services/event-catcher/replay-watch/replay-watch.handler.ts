import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { ReplayedContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { Claimant } from '../../../shared/chain/identifiers/claimant.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import type { AskedBlocks } from '../domain/watches/replay.ts';
import { requestReplay } from './request-replay.ts';

/** Lets final blocks of a watch be read again, for its holder. */
export class ReplayWatch extends Command<{ replay: ReplayedContract; position: Position }> {
  constructor(
    readonly asked: { watchId: string; claimant: Claimant; blocks: AskedBlocks },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(ReplayWatch)
export class ReplayWatchHandler implements ICommandHandler<ReplayWatch> {
  constructor(private readonly transactor: Transactor) {}

  execute({ asked: { watchId, claimant, blocks }, metadata }: ReplayWatch) {
    const by = { kind: 'claimant', claimant } as const;
    return requestReplay(this.transactor, { watchId, by, blocks, metadata });
  }
}
