import { Inject, Injectable, Optional, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { CountedName } from '../../schemas/http/rate-limits.ts';
import type { RouteContract } from '../../schemas/http/route.ts';
import type { Settings } from '../config/settings.ts';
import { Refusal } from '../errors/refusal.ts';
import { AccessTokens } from '../auth/access-tokens.jose.ts';
import { AppCallers } from './app-callers.ts';
import type { AppItselfCaller, Caller, TokenCaller, UserCaller } from '../auth/caller.ts';
import { holderKey } from '../auth/holder-key.ts';
import { ConnectionCallers } from './connection-callers.ts';
import { bearerToken } from './requests/bearer-token.ts';
import { boundRoute } from './requests/implements.ts';
import { addressKey, RateLimits, refuseExceeded, type RateLimitStatus } from './limits/rate-limits.ts';
import { SETTINGS } from './tokens.ts';

/** Admits a request by its contract: HTTPS, the caller, the rate limit. */
@Injectable()
export class AdmissionGuard implements CanActivate {
  constructor(
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'NODE_ENV'>,
    private readonly tokens: AccessTokens,
    private readonly limits: RateLimits,
    /** Only in a service that has routes for apps. */
    @Optional() private readonly apps?: AppCallers,
    /** Only in a service that accepts connection tokens. */
    @Optional() private readonly connections?: ConnectionCallers,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const contract = boundRoute(context)?.contract;
    if (!contract) return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    this.requireHttps(contract, request);
    if (!contract.hasOwnGuard) request.caller = await this.admit(contract, request);
    return true;
  }

  private async admit(contract: RouteContract, request: FastifyRequest): Promise<Caller | undefined> {
    const limit = contract.rateLimit ?? 'request';
    if (contract.auth === 'bearer') {
      const user = await this.bearer(contract, request);
      request.callerIsKnown = contract.command === true;
      const status =
        limit === 'rpc' ? await this.limits.countRpc(user) : await this.limits.count(limit, holderKey(user));
      refuse(request, status);
      return user;
    }
    // The handler counts a refresh by session, because it knows whether the refresh is a repeat.
    if (limit !== 'refresh') await this.count(limit, addressKey(request.ip), request);
    if (contract.auth === 'none') return undefined;
    if (!this.apps) throw new Error(`${contract.path} is for apps, and no AppCallers are bound`);
    const app = await this.apps.authenticate(request, contract.signedByServerKey ? 'server key' : 'signing key');
    request.callerIsKnown = contract.command === true;
    const carriesToken = request.headers.authorization !== undefined;
    return { ...app, user: carriesToken ? await this.user(request) : undefined };
  }

  private bearer(contract: RouteContract, request: FastifyRequest): Promise<TokenCaller> {
    return this.counted(request, async (token) => {
      const connection = contract.connectionTokens && (await this.connections?.verify(token));
      if (connection) return connection;
      const caller = await this.tokens.verify(token);
      return contract.appTokens ? caller : requireUser(caller);
    });
  }

  private user(request: FastifyRequest): Promise<UserCaller> {
    return this.counted(request, async (token) => requireUser(await this.tokens.verify(token)));
  }

  /** A failure counts against the address; otherwise guessing would be free. */
  private async counted<Verified>(
    request: FastifyRequest,
    verify: (token: string) => Promise<Verified>,
  ): Promise<Verified> {
    try {
      return await verify(requireToken(request));
    } catch (error) {
      await this.count('request', addressKey(request.ip), request);
      throw error;
    }
  }

  private async count(name: CountedName, key: string, request: FastifyRequest): Promise<void> {
    refuse(request, await this.limits.count(name, key));
  }

  private requireHttps(contract: RouteContract, request: FastifyRequest): void {
    const carriesTokens = contract.auth !== 'none' || contract.command === true;
    if (this.settings.NODE_ENV === 'production' && carriesTokens && request.protocol !== 'https') {
      throw new Refusal('https_required', 'use https');
    }
  }
}

/** @throws Refusal rate_limited */
const refuse = (request: FastifyRequest, status: RateLimitStatus | undefined): void => {
  request.rateLimit = status;
  refuseExceeded(status);
};

/** @throws Refusal forbidden */
const requireUser = (caller: UserCaller | AppItselfCaller): UserCaller => {
  if (caller.kind === 'user') return caller;
  throw new Refusal('forbidden', "an app's own token does not act for a user: send the access token of a session");
};

/** @throws Refusal token_missing */
const requireToken = ({ headers }: FastifyRequest): string => {
  const token = bearerToken(headers);
  if (token === undefined) throw new Refusal('token_missing', 'send authorization: Bearer <access token>');
  return token;
};
