import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { eventCatcherRoutes, type RegisteredContract } from '../../../schemas/http/event-catcher-routes.ts';
import type { TokenCaller } from '../../../shared/auth/caller.ts';
import { RegisterContract } from './register-contract.handler.ts';
import { Implements, type ParsedRequest, type CommandAnswer } from '../../../shared/edge/implements.ts';

const { registerContract } = eventCatcherRoutes;

/** Where a contract was deployed is found in many calls to the chain. */
const DEPLOY_BLOCK_MS = 10_000;

@Controller()
export class RegisterContractHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(registerContract, { moreTimeMs: ({ body }) => (asksForDeployBlock(body) ? DEPLOY_BLOCK_MS : 0) })
  async register({
    body,
    caller,
    context,
  }: ParsedRequest<typeof registerContract>): Promise<CommandAnswer<RegisteredContract>> {
    const command = new RegisterContract(
      { ...body, appId: caller.appId, userId: isApp(caller) ? null : caller.userId },
      context.metadata,
    );
    const { contract, isNew, position } = await this.commands.execute(command);
    return { body: contract, position, status: isNew ? 201 : 200 };
  }
}

const isApp = (caller: TokenCaller): boolean => caller.kind === 'connection' && caller.by === 'app';

const asksForDeployBlock = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'startBlock' in body && body.startBlock === 'deploy';
