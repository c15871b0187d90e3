import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { appToken } from '../../../../schemas/http/account/session-routes.ts';
import { codeOrStatus } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import type { RegisteredApp } from '../../apps/register-app/register-app.handler.ts';
import { chainsOf, startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { bearer } from '../../testing/sessions.ts';

const folder = temporaryFolder();
const SIGNER = `0x${'1'.repeat(40)}`;
const CHAINS = chainsOf([2484, 'http://127.0.0.1:9']);

describe('a token of an app itself', () => {
  let account: AccountUnderTest;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder, { CHAINS });
  });
  afterAll(() => account.service.close());

  /** An app with a server key, as its server knows it. */
  const appWithServer = async (): Promise<{ app: RegisteredApp; server: RegisteredApp }> => {
    const app = await account.register();
    // A process that knows the app without the key takes the key at once.
    await account.ask(account.challengePath(SIGNER), { headers: account.appHeaders({}, app) });
    const { newKey } = await account.apps.createServerKey(app.id);
    return { app, server: { ...app, signingKey: newKey } };
  };
  const post = (headers: Record<string, string>) => account.ask('/auth/app', { method: 'POST', headers });
  const tokenOf = async (server: RegisteredApp) => {
    const answer = await post(account.appHeadersV2('POST', '/auth/app', undefined, server));
    expect(answer.status).toBe(201);
    return appToken.strict().parse(await answer.json());
  };
  const rpc = ({ apiKey }: RegisteredApp, accessToken: string) =>
    account.ask('/rpc', {
      method: 'POST',
      headers: bearer({ accessToken }),
      body: { method: 'eth_chainId', apiKey },
    });

  it('is given for its server key, for ten minutes, and names the app as subject and client', async () => {
    const { app, server } = await appWithServer();
    const { accessToken, accessTokenExpire } = await tokenOf(server);
    expect(decodeProtectedHeader(accessToken)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
    const claims = decodeJwt(accessToken);
    expect(claims).toMatchObject({ sub: app.id, client_id: app.id, app: app.id, aud: 'annals', amr: ['app'] });
    expect(claims).not.toHaveProperty('sid');
    const iat = Math.floor(account.clock.now() / 1_000);
    expect(claims).toMatchObject({ iat, exp: iat + 600, jti: expect.any(String) });
    expect(accessTokenExpire).toBe((iat + 600) * 1_000);
  });

  it('is refused for a signing key, for scheme v1, and for a request that comes again', async () => {
    const { app, server } = await appWithServer();
    expect(await codeOrStatus(await post(account.appHeadersV2('POST', '/auth/app', undefined, app)))).toBe(
      'app_signature_invalid',
    );
    expect(await codeOrStatus(await post(account.appHeaders({}, server)))).toBe('app_signature_invalid');
    const headers = account.appHeadersV2('POST', '/auth/app', undefined, server);
    expect([await codeOrStatus(await post(headers)), await codeOrStatus(await post(headers))]).toEqual([
      201,
      'request_replayed',
    ]);
    const path = account.challengePath(account.newWallet().address);
    const challenge = await account.ask(path, { headers: account.appHeadersV2('GET', path, undefined, server) });
    expect(await codeOrStatus(challenge)).toBe('app_signature_invalid');
  });

  it('is taken by /rpc, and is forbidden wherever a user is needed', async () => {
    const { app, server } = await appWithServer();
    const { accessToken } = await tokenOf(server);
    const headers = bearer({ accessToken });
    expect(await (await rpc(app, accessToken)).json()).toMatchObject({ result: '0x9b4' });
    const asks = [
      account.ask(`/user/${app.id}`, { headers }),
      account.ask('/auth/sessions', { headers }),
      account.ask('/auth/sessions', { method: 'DELETE', headers }),
      account.ask('/onchain/send', { method: 'POST', headers, body: { to: SIGNER } }),
      account.redeem(SIGNER, '0x', { ...account.appHeaders({}, app), ...headers }),
    ];
    for (const answer of await Promise.all(asks)) {
      expect([answer.status, await codeOrStatus(answer)]).toEqual([403, 'forbidden']);
    }
  });

  it.each(['server key', 'app'])('ends within two seconds of the %s', async (ended) => {
    const { app, server } = await appWithServer();
    const { accessToken } = await tokenOf(server);
    expect(await codeOrStatus(await rpc(app, accessToken))).toBe(200);
    await account.apps.change(app.id, ended === 'app' ? { revoke: true } : { revokeServerKey: undefined });
    account.clock.time += 1_999;
    expect(await codeOrStatus(await rpc(app, accessToken))).toBe(ended === 'app' ? 'app_revoked' : 'token_invalid');
    expect(await codeOrStatus(await post(account.appHeadersV2('POST', '/auth/app', undefined, server)))).toBe(
      ended === 'app' ? 'app_revoked' : 'app_signature_invalid',
    );
  });

  it('of the newer of two server keys goes on when the older one ends', async () => {
    const { app, server } = await appWithServer();
    const { newKey } = await account.apps.createServerKey(app.id);
    const [older, newer] = [await tokenOf(server), await tokenOf({ ...app, signingKey: newKey })];
    const [, former] = (await account.apps.list()).find(({ id }) => id === app.id)?.serverSigners ?? [];
    await account.apps.change(app.id, { revokeServerKey: former });
    account.clock.time += 1_999;
    expect(await codeOrStatus(await rpc(app, older.accessToken))).toBe('token_invalid');
    expect(await codeOrStatus(await rpc(app, newer.accessToken))).toBe(200);
  });
});
