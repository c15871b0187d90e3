import { createRemoteJWKSet, errors, jwtVerify, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { address, loginMethod } from '../../schemas/values.ts';
import { Refusal, unavailable } from '../errors/refusal.ts';
import { TtlCache } from '../primitives/ttl-cache.ts';
import { systemClock, type Clock } from '../primitives/clock.ts';
import type { AppEnds, ServerKey } from './app-ends.ts';
import type { AppItselfCaller, UserCaller } from './caller.ts';
import type { SessionEnds } from './session-ends.ts';

/** The `aud` of every token. */
export const TOKEN_AUDIENCE = 'annals';

/** The issuer of trusted tokens. */
export interface TokenIssuer {
  /** Returns `iss`. Called for each request, because the address of a service is known only once it listens. */
  issuer: () => string;
  /** Returns the key that a token names. Throws jose's errors. */
  key: JWTVerifyGetKey;
  /** Whether verification keys were loaded. From then on the account service may be down. */
  hasKeys: () => Promise<boolean>;
}

/** RFC 9068; `amr` as in RFC 8176. */
const common = z.object({ sub: z.string(), client_id: z.string(), exp: z.number(), jti: z.string() });
const userClaims = common.extend({ sid: z.string(), amr: z.tuple([loginMethod]) });
/** Claims of an app's own token. */
const appClaims = common.extend({ amr: z.tuple([z.literal('app')]), server_key: address });
const claims = z.union([userClaims, appClaims]);
type Claims = z.infer<typeof claims>;

/** Cache time of verified tokens: a withdrawn key is trusted for at most this long. */
const KNOWN_MS = 30_000;
const KNOWN_MAX = 10_000;

/** Age at which cached keys are fetched again, and the retry interval if that fails. */
const REFRESH_MS = 60_000;
const RETRY_MS = 5_000;

/**
 * The account service as seen by another service: fetches and caches its keys. The account service may start later.
 * Once keys are cached it may be down: they stay valid, and are refreshed in the background.
 * @param issuer `iss`, the address that clients use; it need not be reachable from here
 * @param jwksUrl the address of its keys
 */
export const remoteIssuer = (
  issuer: string,
  jwksUrl: string,
  clock: Pick<Clock, 'elapsed'> = systemClock,
): TokenIssuer => {
  const keys = createRemoteJWKSet(new URL(jwksUrl), {
    timeoutDuration: 2_000,
    cooldownDuration: 1_000,
    cacheMaxAge: Infinity,
  });
  let refreshAt = clock.elapsed() + REFRESH_MS;
  const refreshBeside = (): void => {
    const now = clock.elapsed();
    if (!keys.jwks() || now < refreshAt) return;
    refreshAt = now + REFRESH_MS;
    keys.reload().catch(() => {
      // Keep the last good keys.
      refreshAt = now + RETRY_MS;
    });
  };
  const hasKeys = async () => {
    if (!keys.jwks()) await keys.reload();
    return true;
  };
  return {
    issuer: () => issuer,
    key: (header, token) => {
      refreshBeside();
      return keys(header, token);
    },
    hasKeys,
  };
};

/** Verifies access tokens, and returns their callers. */
export class AccessTokens {
  /**
   * Verified tokens by their text: checking a signature takes longer than everything else in a request for a document.
   */
  private readonly known: TtlCache<Claims>;

  constructor(
    private readonly issuer: TokenIssuer,
    private readonly clock: Clock,
    private readonly sessions: Pick<SessionEnds, 'hasEnded'>,
    private readonly apps: Pick<AppEnds, 'isRevoked' | 'isServerKeyRevoked'>,
  ) {
    this.known = new TtlCache(clock, { max: KNOWN_MAX, ttlMs: KNOWN_MS });
  }

  /** @throws Refusal token_invalid, token_expired, session_revoked, app_revoked, dependency_unavailable */
  async verify(token: string): Promise<UserCaller | AppItselfCaller> {
    const found = await this.claimsOf(token);
    return 'sid' in found ? this.user(found) : this.app(found);
  }

  private async user({ sub, sid, client_id, amr, exp }: z.infer<typeof userClaims>): Promise<UserCaller> {
    const [hasEnded, isRevoked] = await Promise.all([this.sessions.hasEnded(sid), this.apps.isRevoked(client_id)]);
    if (hasEnded) throw new Refusal('session_revoked', 'sign in again');
    if (isRevoked) throw new Refusal('app_revoked', 'the app of this session was revoked');
    return { kind: 'user', userId: sub, sessionId: sid, appId: client_id, method: amr[0], expiresAtMs: exp * 1_000 };
  }

  private async app({ sub, server_key: serverKey, jti, exp }: z.infer<typeof appClaims>): Promise<AppItselfCaller> {
    await requireServerKey(this.apps, { appId: sub, signer: serverKey });
    return { kind: 'app-itself', userId: sub, appId: sub, sessionId: jti, serverKey, expiresAtMs: exp * 1_000 };
  }

  private async claimsOf(token: string): Promise<Claims> {
    const known = this.known.get(token);
    if (known) {
      if (known.exp * 1_000 <= this.clock.now()) throw expired();
      return known;
    }
    const { payload } = await verifyToken(token, 'at+jwt', this.issuer, this.clock);
    const parsed = claims.safeParse(payload);
    if (!parsed.success) throw new Refusal('token_invalid', 'the token lacks a claim');
    this.known.set(token, parsed.data);
    return parsed.data;
  }
}

/** @throws Refusal app_revoked, token_invalid: the app or its server key was revoked */
export const requireServerKey = async (
  apps: Pick<AppEnds, 'isRevoked' | 'isServerKeyRevoked'>,
  key: ServerKey,
): Promise<void> => {
  const [isRevoked, isKeyRevoked] = await Promise.all([apps.isRevoked(key.appId), apps.isServerKeyRevoked(key)]);
  if (isRevoked) throw new Refusal('app_revoked', 'the app was revoked');
  if (isKeyRevoked) throw new Refusal('token_invalid', 'the server key of this token was revoked: use another one');
};

/**
 * Checks signature, algorithm, `typ`, `iss`, `aud` and `exp` of one of our tokens.
 * @throws Refusal token_invalid, token_expired, dependency_unavailable
 */
export const verifyToken = async (token: string, typ: string, issuer: TokenIssuer, clock: Clock) => {
  try {
    return await jwtVerify(token, issuer.key, {
      algorithms: ['ES256'],
      typ,
      issuer: issuer.issuer(),
      audience: TOKEN_AUDIENCE,
      requiredClaims: ['sub', 'iat', 'exp', 'jti'],
      currentDate: new Date(clock.now()),
    });
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw expired();
    if (isTokensFault(error)) throw new Refusal('token_invalid', 'the token is not one of ours', { cause: error });
    throw unavailable('the signing keys cannot be read', error);
  }
};

const expired = (): Refusal => new Refusal('token_expired', 'refresh the token, or sign in again');

/** Whether jose found a fault in the token, as opposed to keys that could not be fetched. */
const isTokensFault = (error: unknown): boolean =>
  error instanceof errors.JOSEError &&
  !(error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) &&
  error.code !== 'ERR_JOSE_GENERIC';
