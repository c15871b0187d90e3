import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { serviceUrl } from '../../../shared/config/service-url.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { AccessTokens } from '../../../shared/auth/access-tokens.jose.ts';
import { originNotAllowed, type AppOrigins } from '../../../shared/auth/app-origins.ts';
import type { TokenCaller } from '../../../shared/auth/caller.ts';
import type { ConnectionCallers } from '../../../shared/edge/connection-callers.ts';
import { safeParse } from '../../../shared/primitives/text/safe-parse.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

/** Far above the longest token that the account service issues. */
const TOKEN_CHARACTERS_MAX = 10_000;
const credentials = z.object({ token: z.string().max(TOKEN_CHARACTERS_MAX).default('') });

const TOKEN_MISSING =
  'connect with auth: {token}, an access token or a connection token; a token in the query or in a header is not read';

/** Decides who may connect. Checks the origin first, so that a foreign page learns nothing about tokens. */
export class Admission {
  constructor(
    private readonly origins: AppOrigins,
    private readonly tokens: AccessTokens,
    private readonly proxies: TrustedProxies,
    private readonly settings: Pick<Settings, 'NODE_ENV' | 'HOST' | 'STREAM_URL'>,
    private readonly connectionTokens: ConnectionCallers,
  ) {}

  /** @throws Refusal token_missing, and what `admitOrigin` and `verify` throw */
  async admit(handshake: IncomingMessage, auth: unknown): Promise<TokenCaller> {
    await this.admitOrigin(handshake);
    const given = safeParse(credentials, auth);
    if (!given.success) throw new Refusal('token_invalid', 'connect with auth: {token}, whose token is a text');
    if (given.data.token === '') throw new Refusal('token_missing', TOKEN_MISSING);
    return this.verify(given.data.token);
  }

  /** @throws Refusal origin_not_allowed, https_required */
  async admitOrigin(handshake: IncomingMessage): Promise<void> {
    const { origin } = handshake.headers;
    if (origin !== undefined && origin !== this.ownOrigin(handshake) && !(await this.origins.allow(origin))) {
      throw originNotAllowed(origin);
    }
    if (this.settings.NODE_ENV === 'production' && !this.proxies.isOverTls(handshake)) {
      throw new Refusal('https_required', 'use https');
    }
  }

  /** @throws Refusal token_invalid, token_expired, session_revoked, app_revoked, dependency_unavailable */
  async verify(token: string): Promise<TokenCaller> {
    return (await this.connectionTokens.verify(token)) ?? this.tokens.verify(token);
  }

  /** The origin of this node's own URL, which clients outside browsers send by default. */
  private ownOrigin({ socket }: IncomingMessage): string {
    const { STREAM_URL, HOST } = this.settings;
    return new URL(STREAM_URL ?? serviceUrl(HOST, socket.localPort ?? 0)).origin;
  }
}
