import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { refreshKey } from '../../../../schemas/http/headers.ts';
import { invalid } from '../../../../shared/errors/refusal.ts';
import { addressKey, RateLimits, refuseExceeded } from '../../../../shared/edge/limits/rate-limits.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { SessionTokens } from '../session-tokens.jose.ts';
import { RefreshSession } from './refresh-session.handler.ts';

const { refreshSession } = accountRoutes;

/** Limits rotations by session. A repeat does not count, so that a client that lost the answer can ask again. */
@Controller()
export class RefreshSessionHttp {
  constructor(
    private readonly commands: CommandBus,
    private readonly tokens: SessionTokens,
    private readonly limits: RateLimits,
  ) {}

  @Implements(refreshSession)
  async refresh({ body, context }: ParsedRequest<typeof refreshSession>) {
    const given = context.header('idempotency-key');
    if (given !== undefined && !refreshKey.pattern.test(given))
      throw invalid({ path: 'idempotency-key', message: 'is not 16 to 128 visible characters' });
    const token = await this.verify(body.refreshToken, context.ip);
    context.callerIsKnown();
    const key = `session:${token.sessionId}`;
    const left = await this.limits.peek('refresh', key);
    context.showRateLimit(left);
    const metadata = {
      ...context.metadata,
      actor: { type: 'user' as const, id: token.userId },
      session: token.sessionId,
    };
    const command = new RefreshSession(token, given, left, metadata);
    const { session, position, rotated } = await this.commands.execute(command);
    if (rotated) context.showRateLimit(await this.limits.count('refresh', key));
    return { body: session, position };
  }

  /** An invalid token counts against the rate limit of the caller's address. */
  private async verify(refreshToken: string, ip: string) {
    try {
      return await this.tokens.readRefreshToken(refreshToken);
    } catch (error) {
      refuseExceeded(await this.limits.count('request', addressKey(ip)));
      throw error;
    }
  }
}
