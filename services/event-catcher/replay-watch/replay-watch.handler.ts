import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { ReplayedContract } from '../../../schemas/http/event-catcher-routes.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import type { AskedBlocks } from '../domain/replay.ts';
import { requestReplay } from './request-replay.ts';

/** Has final blocks of a watch read again, for an app. */
export class ReplayWatch extends Command<{ replay: ReplayedContract; position: Position }> {
  constructor(
    readonly asked: { watchId: string; appId: string; blocks: AskedBlocks },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(ReplayWatch)
export class ReplayWatchHandler implements ICommandHandler<ReplayWatch> {
  constructor(private readonly transactor: Transactor) {}

  execute({ asked: { watchId, appId, blocks }, metadata }: ReplayWatch) {
    return requestReplay(this.transactor, { watchId, by: { kind: 'app', appId }, blocks, metadata });
  }
}
