import { errors, SignJWT, type JWTPayload } from 'jose';
import type { Session as SessionAnswer } from '../../../schemas/http/account/account-routes.ts';
import type { AppToken } from '../../../schemas/http/account/session-routes.ts';
import type { ServerKey } from '../../../shared/auth/app-ends.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { TOKEN_AUDIENCE, verifyToken, type TokenIssuer } from '../../../shared/auth/access-tokens.jose.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { SESSION_IDLE_MS, SESSION_LIFE_MS, type Session } from './domain/session.ts';
import type { SigningKeys } from './signing-keys.ts';

const ACCESS_SECONDS = 10 * 60;

const ACCESS = 'at+jwt';
const REFRESH = 'rt+jwt';

/** Signs and verifies the tokens of sessions. Tokens that are issued again for the same state have the same claims. */
export class SessionTokens {
  constructor(
    private readonly keys: SigningKeys,
    private readonly issuer: TokenIssuer,
    private readonly clock: Clock,
  ) {}

  async issue(session: Session): Promise<SessionAnswer> {
    const { userId, sessionId, appId, method, counter, accessTokenId, refreshTokenId } = session;
    const iat = Math.floor(session.issuedAt / 1_000);
    const end = Math.floor(session.startedAt / 1_000) + SESSION_LIFE_MS / 1_000;
    const common = { iss: this.issuer.issuer(), aud: TOKEN_AUDIENCE, sub: userId, sid: sessionId, iat };
    const accessExpiry = Math.min(iat + ACCESS_SECONDS, end);
    const refreshExpiry = Math.min(iat + SESSION_IDLE_MS / 1_000, end);
    const [accessToken, refreshToken] = await Promise.all([
      this.sign(ACCESS, { ...common, ...clientOf(appId), amr: [method], exp: accessExpiry, jti: accessTokenId }),
      this.sign(REFRESH, { ...common, ctr: counter, exp: refreshExpiry, jti: refreshTokenId }),
    ]);
    return {
      refreshToken,
      refreshTokenExpire: refreshExpiry * 1_000,
      accessToken,
      accessTokenExpire: accessExpiry * 1_000,
      userId,
    };
  }

  /** Issues the token of an app itself, which is revoked with the server key that signed for it. */
  async issueForApp({ appId, signer }: ServerKey, tokenId: string): Promise<AppToken> {
    const iat = Math.floor(this.clock.now() / 1_000);
    const exp = iat + ACCESS_SECONDS;
    const common = { iss: this.issuer.issuer(), aud: TOKEN_AUDIENCE, sub: appId, iat, exp, jti: tokenId };
    const accessToken = await this.sign(ACCESS, { ...common, ...clientOf(appId), amr: ['app'], server_key: signer });
    return { accessToken, accessTokenExpire: exp * 1_000 };
  }

  /** @throws Refusal refresh_token_invalid */
  async readRefreshToken(token: string): Promise<{ sessionId: string; tokenId: string; userId: string }> {
    const { payload } = await verifyToken(token, REFRESH, this.issuer, this.clock).catch((cause: unknown) => {
      const detail = cause instanceof Refusal ? cause.detail : 'it cannot be read';
      throw new Refusal('refresh_token_invalid', detail, { cause });
    });
    const { sid, jti, sub } = payload;
    if (typeof sid !== 'string' || jti === undefined || sub === undefined) {
      throw new Refusal('refresh_token_invalid', 'the token lacks a claim');
    }
    return { sessionId: sid, tokenId: jti, userId: sub };
  }

  private async sign(typ: string, claims: JWTPayload): Promise<string> {
    const { kid, privateKey } = await this.keys.current();
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ, kid }).sign(privateKey);
  }
}

/** `client_id` is RFC 9068's name for the app. */
const clientOf = (appId: string) => ({ client_id: appId, app: appId });

/** Verifies tokens with this service's own keys, without a request to itself. */
export const ownIssuer = (keys: SigningKeys, issuer: () => string): TokenIssuer => ({
  issuer,
  key: async ({ kid }) => {
    const key = await keys.byId(kid ?? '');
    if (!key) throw new errors.JWKSNoMatchingKey();
    return key.publicKey;
  },
  hasKeys: () => Promise.resolve(true),
});
