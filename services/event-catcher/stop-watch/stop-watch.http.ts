import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { eventCatcherRoutes } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { WatchedContract } from '../../../schemas/http/event-catcher/watched-contract.ts';
import { claimantOf } from '../../../shared/auth/claimant.ts';
import { Implements, type CommandAnswer, type ParsedRequest } from '../../../shared/edge/requests/implements.ts';
import { PauseContract, RemoveContract } from './stop-watch.handler.ts';

const { removeContract, pauseContract, resumeContract } = eventCatcherRoutes;

@Controller()
export class StopWatchHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(removeContract)
  async remove({ params, caller, context }: ParsedRequest<typeof removeContract>): Promise<CommandAnswer<undefined>> {
    const command = new RemoveContract({ watchId: params.id, claimant: claimantOf(caller) }, context.metadata);
    return { body: undefined, position: await this.commands.execute(command) };
  }

  @Implements(pauseContract)
  pause(request: ParsedRequest<typeof pauseContract>): Promise<CommandAnswer<WatchedContract>> {
    return this.change(request, true);
  }

  @Implements(resumeContract)
  resume(request: ParsedRequest<typeof resumeContract>): Promise<CommandAnswer<WatchedContract>> {
    return this.change(request, false);
  }

  private async change(
    { params, caller, context }: ParsedRequest<typeof pauseContract | typeof resumeContract>,
    isPaused: boolean,
  ): Promise<CommandAnswer<WatchedContract>> {
    const asked = { watchId: params.id, claimant: claimantOf(caller), isPaused };
    const { contract, position } = await this.commands.execute(new PauseContract(asked, context.metadata));
    return { body: contract, position };
  }
}
