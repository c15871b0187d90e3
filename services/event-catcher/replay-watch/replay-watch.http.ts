import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { eventCatcherRoutes, type ReplayedContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { claimantOf } from '../../../shared/auth/claimant.ts';
import { Implements, type CommandAnswer, type ParsedRequest } from '../../../shared/edge/requests/implements.ts';
import { ReplayWatch } from './replay-watch.handler.ts';

const { replayContract } = eventCatcherRoutes;

@Controller()
export class ReplayWatchHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(replayContract)
  async replay({
    params,
    body,
    caller,
    context,
  }: ParsedRequest<typeof replayContract>): Promise<CommandAnswer<ReplayedContract>> {
    const asked = { watchId: params.id, claimant: claimantOf(caller), blocks: body ?? {} };
    const { replay, position } = await this.commands.execute(new ReplayWatch(asked, context.metadata));
    return { body: replay, position };
  }
}
