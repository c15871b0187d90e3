import { createPublicKey, verify, type webcrypto } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';

const folder = temporaryFolder();

interface Metadata {
  issuer: string;
  jwks_uri: string;
}

/** A resource server that knows an issuer and RFC 9068, and nothing of this project. */
class ResourceServer {
  private constructor(
    private readonly metadata: Metadata,
    private readonly keys: readonly (webcrypto.JsonWebKey & { kid?: string; use?: string })[],
  ) {}

  static async discover(issuer: string, document: string): Promise<ResourceServer> {
    const metadata = (await (await fetch(`${issuer}/.well-known/${document}`)).json()) as Metadata;
    // RFC 8414, 3.3.
    if (metadata.issuer !== issuer) throw new Error('the metadata are of another issuer');
    const { keys } = (await (await fetch(metadata.jwks_uri)).json()) as { keys: webcrypto.JsonWebKey[] };
    return new ResourceServer(metadata, keys);
  }

  /** Section 4 of RFC 9068. @throws Error with the rule that is broken */
  claimsOf(token: string, { audience, nowSeconds }: { audience: string; nowSeconds: number }): Record<string, unknown> {
    const [head = '', body = '', signature = ''] = token.split('.');
    const header = read(head);
    require(header['typ'] === 'at+jwt' || header['typ'] === 'application/at+jwt', 'typ');
    require(header['alg'] === 'ES256', 'alg');
    const key = this.keys.find(({ kid, use }) => kid === header['kid'] && use === 'sig');
    if (!key) throw new Error('kid');
    const publicKey = createPublicKey({ key, format: 'jwk' });
    const signed = { key: publicKey, dsaEncoding: 'ieee-p1363' as const };
    require(verify('sha256', Buffer.from(`${head}.${body}`), signed, Buffer.from(signature, 'base64url')), 'signature');
    const claims = read(body);
    require(claims['iss'] === this.metadata.issuer, 'iss');
    require([claims['aud']].flat().includes(audience), 'aud');
    for (const name of ['sub', 'client_id', 'jti']) {
      require(typeof claims[name] === 'string' && claims[name] !== '', name);
    }
    for (const name of ['exp', 'iat']) require(Number.isInteger(claims[name]), name);
    require(Number(claims['exp']) > nowSeconds && Number(claims['iat']) <= nowSeconds, 'exp');
    const { amr } = claims;
    require(Array.isArray(amr) && amr.every((method) => typeof method === 'string'), 'amr');
    return claims;
  }
}

const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
const require = (isSo: boolean, rule: string): void => {
  if (!isSo) throw new Error(rule);
};

describe('an access token, to a library that knows its issuer alone', () => {
  let account: AccountUnderTest;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
  });
  afterAll(() => account.service.close());

  const issuerOf = (token: string) => String(read(token.split('.')[1] ?? '')['iss']);
  const now = () => ({ audience: 'annals', nowSeconds: Math.floor(account.clock.now() / 1_000) });

  it.each(['openid-configuration', 'oauth-authorization-server'])(
    'is one of RFC 9068, by the keys that %s leads to, whether of a user or of an app',
    async (document) => {
      const { accessToken, refreshToken, userId } = await account.logIn(account.newWallet());
      const server = await ResourceServer.discover(issuerOf(accessToken), document);
      const claims = server.claimsOf(accessToken, now());
      expect(claims).toMatchObject({ sub: userId, client_id: account.app.id, app: account.app.id, amr: ['wallet'] });
      expect(Object.keys(claims).sort()).toEqual('amr app aud client_id exp iat iss jti sid sub'.split(' '));
      expect(() => server.claimsOf(refreshToken, now())).toThrow('typ');
      const { newKey } = await account.apps.createServerKey(account.app.id);
      const headers = account.appHeadersV2('POST', '/auth/app', undefined, { ...account.app, signingKey: newKey });
      const answer = await account.ask('/auth/app', { method: 'POST', headers });
      const { accessToken: own } = (await answer.json()) as { accessToken: string };
      expect(server.claimsOf(own, now())).toMatchObject({ sub: account.app.id, client_id: account.app.id });
    },
  );

  it('is found by metadata that promise nothing else, and that pages of every origin may read', async () => {
    const answers = await Promise.all(
      ['openid-configuration', 'oauth-authorization-server', 'jwks.json'].map((name) =>
        account.ask(`/.well-known/${name}`, { headers: { origin: 'https://anybody.example' } }),
      ),
    );
    for (const { headers } of answers) expect(headers.get('access-control-allow-origin')).toBe('*');
    const [openid, oauth] = await Promise.all(answers.map((answer) => answer.json() as Promise<Metadata>));
    expect(openid).toEqual({
      issuer: account.service.url,
      jwks_uri: `${account.service.url}/.well-known/jwks.json`,
      id_token_signing_alg_values_supported: ['ES256'],
      subject_types_supported: ['public'],
      response_types_supported: [],
    });
    expect(oauth).toEqual(openid);
  });
});
