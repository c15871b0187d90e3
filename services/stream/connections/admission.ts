import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Settings } from '../../../shared/config/settings.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { AccessTokens } from '../../../shared/auth/access-tokens.jose.ts';
import type { AppOrigins } from '../../../shared/auth/app-origins.ts';
import type { UserCaller } from '../../../shared/auth/caller.ts';
import { SecureTransport } from './secure-transport.ts';

/** Far above the longest token that the account service issues. */
const TOKEN_CHARACTERS_MAX = 10_000;
const credentials = z.object({ token: z.string().max(TOKEN_CHARACTERS_MAX).default('') });

/** Decides who may connect. The origin is checked first, so that a foreign page learns nothing about tokens. */
export class Admission {
  private readonly secureTransport: SecureTransport;

  constructor(
    private readonly origins: AppOrigins,
    private readonly tokens: AccessTokens,
    private readonly settings: Pick<Settings, 'NODE_ENV' | 'TRUSTED_PROXIES'>,
  ) {
    this.secureTransport = new SecureTransport(settings.TRUSTED_PROXIES);
  }

  /** @throws Refusal origin_not_allowed, https_required, token_missing, and what `AccessTokens.verify` throws */
  async admit(handshake: IncomingMessage, auth: unknown): Promise<UserCaller> {
    const { origin } = handshake.headers;
    if (origin !== undefined && !(await this.origins.allow(origin))) {
      throw new Refusal('origin_not_allowed', 'no app allows this origin');
    }
    if (this.settings.NODE_ENV === 'production' && !this.secureTransport.isUsedBy(handshake)) {
      throw new Refusal('https_required', 'use https');
    }
    const given = credentials.safeParse(auth);
    if (!given.success) throw new Refusal('token_invalid', 'the token is not a valid access token');
    if (given.data.token === '') throw new Refusal('token_missing', 'connect with auth: {token}, an access token');
    return this.tokens.verify(given.data.token);
  }
}
