import { beforeAll, describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose';
import { IdTokens } from './id-tokens.jose.ts';
import { ProviderAway } from './provider-fetch.ts';

const NOW_MS = Date.parse('2026-01-02T03:04:05.678Z');
const keysUrl = new URL('https://site.example/keys');

describe('an id token', () => {
  let keys: Awaited<ReturnType<typeof generateKeyPair>>;
  let asked: string[] = [];
  beforeAll(async () => {
    keys = await generateKeyPair('ES256');
  });
  const tokensOf = (issuer: string) =>
    new IdTokens({
      issuer,
      keysUrl,
      algorithms: ['ES256'],
      secret: undefined,
      timeoutMs: 1_000,
      fetch: async (url) => {
        asked.push(url);
        return Response.json({ keys: [await exportJWK(keys.publicKey)] });
      },
    });
  const verify = async (tokens: IdTokens, claims: JWTPayload) => {
    const iat = Math.floor(NOW_MS / 1_000);
    const token = await new SignJWT({ aud: 'annals', iat, exp: iat + 60, ...claims })
      .setProtectedHeader({ alg: 'ES256' })
      .sign(keys.privateKey);
    return tokens.verify(token, { audiences: ['annals'], nowMs: NOW_MS });
  };
  const refusal = { reason: 'id_token_refused', message: 'its id token is refused: it is of another issuer' };

  it('is verified by the keys of its issuer, which are asked for once', async () => {
    asked = [];
    const tokens = tokensOf('https://site.example');
    const { claims, expiresAt } = await verify(tokens, { iss: 'https://site.example', sub: 'ada' });
    expect(claims).toMatchObject({ iss: 'https://site.example', sub: 'ada' });
    // Clocks may differ by half a minute.
    expect(expiresAt).toBe(Math.floor(NOW_MS / 1_000) * 1_000 + 90_000);
    await expect(verify(tokens, { iss: 'https://site.example/' })).rejects.toMatchObject(refusal);
    await expect(verify(tokens, {})).rejects.toMatchObject(refusal);
    expect(asked).toEqual([keysUrl.href]);
  });

  it('is of the tenant that it names, where the provider is an issuer for each', async () => {
    const tokens = tokensOf('https://site.example/{tenantid}/v2.0');
    const { claims } = await verify(tokens, { iss: 'https://site.example/one/v2.0', tid: 'one' });
    expect(claims.iss).toBe('https://site.example/one/v2.0');
    for (const wrong of [
      { iss: 'https://site.example/one/v2.0', tid: 'two' },
      { iss: 'https://site.example/one/v2.0' },
      { iss: 'https://site.example/{tenantid}/v2.0' },
    ]) {
      await expect(verify(tokens, wrong)).rejects.toMatchObject(refusal);
    }
  });

  it('waits for a provider that is away', async () => {
    const away = new ProviderAway('https://site.example does not answer');
    const fetch = () => Promise.reject(away);
    const options = { issuer: 'x', keysUrl, algorithms: ['ES256'], secret: undefined, timeoutMs: 1_000, fetch };
    await expect(verify(new IdTokens(options), { iss: 'x' })).rejects.toBe(away);
  });
});
