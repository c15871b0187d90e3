import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { ReplayedContract } from '../../../schemas/http/event-catcher-routes.ts';
import type { ClaimCaller } from '../../../shared/chain/watch-names.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import type { AskedBlocks } from '../domain/replay.ts';
import { holderOf } from '../edge/watch-holder.ts';
import { requestReplay } from './request-replay.ts';

/** Has final blocks of a watch read again, for its holder. */
export class ReplayWatch extends Command<{ replay: ReplayedContract; position: Position }> {
  constructor(
    readonly asked: ClaimCaller & { watchId: string; blocks: AskedBlocks },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(ReplayWatch)
export class ReplayWatchHandler implements ICommandHandler<ReplayWatch> {
  constructor(private readonly transactor: Transactor) {}

  async execute({ asked: { blocks, ...asked }, metadata }: ReplayWatch) {
    const by = { kind: 'app', appId: await holderOf(this.transactor, asked) } as const;
    return requestReplay(this.transactor, { watchId: asked.watchId, by, blocks, metadata });
  }
}
