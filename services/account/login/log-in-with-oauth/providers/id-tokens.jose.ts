import { createHash } from 'node:crypto';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  jwtVerify,
  type FetchImplementation,
  type JWTHeaderParameters,
  type JWTPayload,
} from 'jose';
import { ProviderAway } from './provider-fetch.ts';
import { ProviderFault } from './provider-fault.ts';

/** Two clocks may differ by so much. */
const CLOCK_TOLERANCE_SECONDS = 30;

interface IssuerKeys {
  /** With `{tenantid}` in the place of the claim `tid`, where one provider is an issuer for each tenant, as Microsoft is. */
  issuer: string;
  keysUrl: URL;
  /** Of signatures that are accepted. */
  algorithms: readonly string[];
  /** The key of algorithms that begin with HS, where one is accepted. */
  secret: Uint8Array | undefined;
  fetch: FetchImplementation;
  timeoutMs: number;
}

interface VerifiedIdToken {
  claims: JWTPayload;
  /** No longer accepted from then on. */
  expiresAt: number;
}

/** Verifies id tokens of one issuer, by the keys that it publishes or by the secret that it shares with the client. */
export class IdTokens {
  private readonly published: ReturnType<typeof createRemoteJWKSet>;

  constructor(private readonly keys: IssuerKeys) {
    const { keysUrl, fetch, timeoutMs } = keys;
    this.published = createRemoteJWKSet(keysUrl, { [customFetch]: fetch, timeoutDuration: timeoutMs });
  }

  /**
   * Returns what a token says, if the issuer signed it for one of these clients and it has not expired.
   * @throws ProviderFault; ProviderAway
   */
  async verify(token: string, { audiences, nowMs }: { audiences: string[]; nowMs: number }): Promise<VerifiedIdToken> {
    const { issuer, algorithms, secret } = this.keys;
    const keyOf = (header: JWTHeaderParameters) =>
      header.alg.startsWith('HS') && secret ? secret : this.published(header);
    const { payload, protectedHeader } = await jwtVerify(token, keyOf, {
      audience: audiences,
      algorithms: [...algorithms],
      currentDate: new Date(nowMs),
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ['exp', 'iat'],
    }).catch((error: unknown) => {
      throw refused(error);
    });
    const { aud, azp, iss, tid, exp = 0 } = payload;
    if (iss !== issuer.replace('{tenantid}', String(tid))) throw fault('it is of another issuer');
    // Access and logout tokens are signed by the same keys, and say so here.
    if (!/^(application\/)?jwt$/i.test(protectedHeader.typ ?? 'JWT')) throw fault('it is a token of another type');
    const isSoleAudience = !Array.isArray(aud) || aud.length === 1;
    if (!isSoleAudience && !audiences.some((known) => known === azp)) throw fault('another client asked for it');
    return { claims: payload, expiresAt: (exp + CLOCK_TOLERANCE_SECONDS) * 1_000 };
  }
}

/** Whether a token has this nonce: as it is, or as its SHA-256, which some libraries put there. */
export const hasNonce = ({ nonce: held }: JWTPayload, nonce: string): boolean => {
  const digest = createHash('sha256').update(nonce).digest();
  return [nonce, digest.toString('hex'), digest.toString('base64url')].some((form) => form === held);
};

const fault = (why: string, cause?: unknown) =>
  new ProviderFault('id_token_refused', `its id token is refused: ${why}`, { cause });

const refused = (error: unknown): Error => {
  if (error instanceof ProviderAway || error instanceof ProviderFault) return error;
  // The library's sentences name members of the token, and none of what they hold.
  return fault(error instanceof errors.JOSEError ? error.message : 'its signature cannot be checked', error);
};
