import { Controller, Inject } from '@nestjs/common';
import type { Logger } from 'pino';
import { accountRoutes } from '../../../schemas/http/account/account-routes.ts';
import { rpcCodes, type RpcResponse } from '../../../schemas/rpc/rpc-messages.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/requests/implements.ts';
import { holderKey } from '../../../shared/auth/holder-key.ts';
import { RateLimits, refuseExceeded } from '../../../shared/edge/limits/rate-limits.ts';
import { LOGGER } from '../../../shared/edge/tokens.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { App } from '../../../shared/auth/app.ts';
import { Sponsors } from '../sponsorship/sponsors.ts';
import { failureOf, readBody, type Asked } from './read-body.ts';
import { RpcError, rpcErrorOf } from './methods/rpc-error.ts';
import { RpcMethods } from './rpc-methods.ts';

const { rpc } = accountRoutes;
type RpcHttpRequest = ParsedRequest<typeof rpc>;

const STORING_METHODS = ['eth_sendUserOperation', 'pm_getPaymasterData'];
const stores = (asked: Asked): boolean => 'request' in asked && STORING_METHODS.includes(asked.request.method);

interface CallContext extends Pick<RpcHttpRequest, 'caller' | 'context'> {
  ended: AbortSignal;
  isAlone: boolean;
}

@Controller()
export class JsonRpc {
  constructor(
    private readonly methods: RpcMethods,
    private readonly sponsors: Sponsors,
    private readonly limits: RateLimits,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Implements(rpc)
  async answer({ body, query, caller, context }: RpcHttpRequest): Promise<RpcResponse | RpcResponse[]> {
    const { all, isArray, isValid } = readBody(body, { chainID: query.chainID, apiKey: query.apiKey });
    if (!isValid) context.answerBy(400);
    await this.count(all.length, caller, context);
    const apps = await this.appsOf(all, caller.appId);
    if (all.some(stores)) {
      // As with every command, the stored result is readable once the answer is sent.
      context.callerIsKnown();
      await this.limits.countBytes(holderKey(caller), body?.length ?? 0);
    }
    const ended = context.ended();
    const answers = await Promise.all(
      all.map((asked) => this.answerOne(asked, apps, { caller, context, ended, isAlone: !isArray })),
    );
    const [first] = answers;
    if (isArray || !first) return answers;
    return first;
  }

  /** The first call is counted already. */
  private async count(
    calls: number,
    caller: RpcHttpRequest['caller'],
    { showRateLimit }: RpcHttpRequest['context'],
  ): Promise<void> {
    if (calls < 2) return;
    const status = await this.limits.countRpc(caller, calls - 1);
    showRateLimit(status);
    refuseExceeded(status);
  }

  /** By their keys. @throws Refusal api_key_unknown, app_revoked: of one, for all */
  private async appsOf(all: readonly Asked[], sessionAppId: string): Promise<ReadonlyMap<string, App>> {
    const keys = new Set(all.flatMap((asked) => ('request' in asked ? asked.request.apiKey : [])));
    const found = [...keys].map(async (key) => [key, await this.sponsors.payingApp(key, sessionAppId)] as const);
    return new Map(await Promise.all(found));
  }

  private async answerOne(
    asked: Asked,
    apps: ReadonlyMap<string, App>,
    { caller, context, ended, isAlone }: CallContext,
  ): Promise<RpcResponse> {
    if ('failure' in asked) return asked.failure;
    const { id = null, apiKey } = asked.request;
    const app = apps.get(apiKey);
    try {
      if (!app) throw new Error('the app of a request is missing');
      const result = await this.methods.call(asked.request, { app, caller, metadata: context.metadata, ended });
      return { jsonrpc: '2.0', id, result };
    } catch (error) {
      // The other calls of an array are still answered.
      if (isAlone && error instanceof Refusal && error.code === 'rate_limited') throw error;
      return failureOf(id, rpcErrorOf(error) ?? this.internal(error, context.requestId));
    }
  }

  private internal(error: unknown, requestId: string): RpcError {
    this.logger.error({ err: error, requestId }, 'a JSON-RPC call failed');
    return new RpcError(rpcCodes.internalError, 'the call failed because of an internal error');
  }
}
