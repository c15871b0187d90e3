import { Inject, Injectable } from '@nestjs/common';
import type { WatchState } from '../../../schemas/http/watched-contract.ts';
import { isStopped, type Watch } from '../../../shared/read-models/watches.ts';
import { progressOf } from '../domain/watch-progress.ts';
import { FOLLOWER_STATUS, type FollowerStatus } from './ports.ts';
import { WatchModels } from './watch-models.ts';

/** Tells the state of a watch as a command has left it, which the read models may not contain yet. */
@Injectable()
export class WatchStates {
  constructor(
    private readonly models: WatchModels,
    @Inject(FOLLOWER_STATUS) private readonly follower: Pick<FollowerStatus, 'errorOf'>,
  ) {}

  async stateOf(watch: Watch): Promise<WatchState> {
    if (isStopped(watch)) return 'paused';
    if (this.follower.errorOf(watch) !== null) return 'failed';
    const known = await this.models.findProjected(watch.id);
    if (!known || isStopped(known)) return 'backfilling';
    return progressOf(known, await this.models.chainOf(known.chainId, [known.id])).state;
  }
}
