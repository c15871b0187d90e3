import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { accountRoutes, type Session } from '../../../schemas/http/account-routes.ts';
import { refreshKey } from '../../../schemas/http/headers.ts';
import { invalid } from '../../../shared/errors/refusal.ts';
import { addressKey, RateLimits, refuseExceeded } from '../../../shared/edge/rate-limits.ts';
import { Implements, type ParsedRequest, type CommandAnswer } from '../../../shared/edge/implements.ts';
import { SessionTokens } from '../edge/session-tokens.jose.ts';
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
  async refresh({ body, context }: ParsedRequest<typeof refreshSession>): Promise<CommandAnswer<Session>> {
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

  /** A token that is not valid counts against the rate limit of the caller's address. */
  private async verify(refreshToken: string, ip: string) {
    try {
      return await this.tokens.readRefreshToken(refreshToken);
    } catch (error) {
      refuseExceeded(await this.limits.count('request', addressKey(ip)));
      throw error;
    }
  }
}
