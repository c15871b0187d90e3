import { Controller } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyRequest } from 'fastify';
import {
  eventCatcherRoutes,
  type RegisteredContract,
} from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { claimantOf } from '../../../shared/auth/claimant.ts';
import { RegisterContract } from './register-contract.handler.ts';
import { TryRegistration } from './try-registration.handler.ts';
import { Implements, type ParsedRequest, type CommandAnswer } from '../../../shared/edge/requests/implements.ts';

const { registerContract } = eventCatcherRoutes;

/** Finding the block of a contract's deployment takes many calls to the chain; a sample of its logs takes some, too. */
const MORE_CALLS_MS = 10_000;

@Controller()
export class RegisterContractHttp {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Implements(registerContract, { moreTimeMs: (request) => (needsMoreCalls(request) ? MORE_CALLS_MS : 0) })
  async register({
    body,
    query,
    caller,
    context,
  }: ParsedRequest<typeof registerContract>): Promise<CommandAnswer<RegisteredContract>> {
    const asked = { ...body, ...claimantOf(caller) };
    if (query.dryRun === 'true') {
      const tried = await this.queries.execute(new TryRegistration(asked, context.metadata));
      return { body: tried.contract, position: tried.position, status: 200 };
    }
    const { contract, isNew, position } = await this.commands.execute(new RegisterContract(asked, context.metadata));
    return { body: contract, position, status: isNew ? 201 : 200 };
  }
}

const needsMoreCalls = ({ query, body }: Pick<FastifyRequest, 'query' | 'body'>): boolean =>
  has(query, 'dryRun', 'true') || has(body, 'startBlock', 'deploy');

const has = (parsed: unknown, name: string, value: string): boolean =>
  typeof parsed === 'object' && parsed !== null && Reflect.get(parsed, name) === value;
