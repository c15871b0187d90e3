import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { TokenCaller } from '../../../../shared/auth/caller.ts';
import { holderKey } from '../../../../shared/auth/holder-key.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import { addressKey, RateLimits, refuseExceeded } from '../../../../shared/edge/limits/rate-limits.ts';
import { refusalOf } from '../../../../shared/edge/answers/problem-document.ts';
import { bearerToken } from '../../../../shared/edge/requests/bearer-token.ts';
import { SETTINGS } from '../../../../shared/edge/tokens.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { Admission } from '../admission.ts';
import { countRefusal } from '../count-refusal.ts';
import { isPublic } from './public-chains.ts';

const TOKEN_MISSING =
  'send authorization: Bearer <access token or connection token>, or, where headers cannot be set, ?access_token=';

/**
 * Admits requests for the stream as sockets are admitted: the origin first, so that a foreign page learns nothing about
 * tokens. A public chain needs no token, but one that is sent must be valid.
 */
@Injectable()
export class StreamTokenGuard implements CanActivate {
  constructor(
    private readonly admission: Admission,
    private readonly limits: RateLimits,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'CHAINS'>,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const address = addressKey(request.ip);
    try {
      await this.admission.admitOrigin(request.raw);
      request.caller = await this.callerOf(request);
    } catch (error) {
      throw await countRefusal(this.limits, address, refusalOf(error));
    }
    const key = request.caller ? holderKey(request.caller) : address;
    request.rateLimit = await this.limits.count('request', key);
    refuseExceeded(request.rateLimit);
    return true;
  }

  private async callerOf({ headers, query }: FastifyRequest): Promise<TokenCaller | undefined> {
    const { access_token: inQuery, chainId } = query as Record<string, unknown>;
    const token = headers.authorization === undefined ? inQuery : bearerToken(headers);
    if (typeof token === 'string' && token !== '') return this.admission.verify(token);
    const isSent = headers.authorization !== undefined || inQuery !== undefined;
    if (!isSent && isPublic(this.settings, Number(chainId))) return undefined;
    throw new Refusal('token_missing', TOKEN_MISSING);
  }
}
