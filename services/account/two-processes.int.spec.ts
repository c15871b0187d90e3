import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Wallet } from 'ethers';
import { decodeJwt } from 'jose';
import { accountRoutes } from '../../schemas/http/account-routes.ts';
import { AnnalsClient } from '../../shared/client/annals-client.ts';
import { closeEngines, everyEngine, openEngines, type Engines } from '../../shared/host/engines.ts';
import type { RunningService } from '../../shared/edge/start-service.ts';
import { eventually } from '../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../shared/testing/temporary-folder.ts';
import { testFoundation } from '../../shared/testing/test-foundation.ts';
import { startAccount } from './account.module.ts';
import { appAdministration } from './app-administration.ts';

const DATA_DIR = temporaryFolder();
const ORIGIN = 'https://app.example';

/** The account service as in another process: it has its own engines on the same files. */
const startProcess = async () => {
  const environment = { DATA_DIR, ACCOUNT_PORT: '0', ACCOUNT_URL: 'http://account.test', RATE_LIMITS: 'off' };
  const inMemory = await testFoundation({ environment });
  const engines = await openEngines(inMemory.settings, inMemory.logger, everyEngine);
  const foundation = { ...inMemory, ...engines };
  const service = await startAccount(foundation);
  const url = `http://127.0.0.1:${new URL(await service.app.getUrl()).port}`;
  return { engines, service, url, foundation };
};

describe('two account processes on one folder', () => {
  const running: { engines: Engines; service: RunningService; url: string }[] = [];
  let wallet: ReturnType<typeof Wallet.createRandom>;
  let clients: [AnnalsClient, AnnalsClient];

  const clientAt = (at: number) => clients[at % 2 === 0 ? 0 : 1];

  beforeAll(async () => {
    const first = await startProcess();
    const second = await startProcess();
    running.push(first, second);
    const { apiKey, signingKey } = await appAdministration(first.foundation).register({
      name: 'Example',
      origins: [ORIGIN],
      redirectUris: [],
      scheme: 'v1',
    });
    const app = { apiKey, origin: ORIGIN, signer: new Wallet(signingKey) };
    const clientOf = ({ url }: { url: string }) => new AnnalsClient({ accountUrl: url, eventUrl: url, app });
    clients = [clientOf(first), clientOf(second)];
    wallet = Wallet.createRandom();
  });
  afterAll(async () => {
    for (const { service, engines } of running) {
      await service.close();
      await closeEngines(engines);
    }
  });

  it('redeem a challenge once', async () => {
    const signer = wallet.address;
    const challenge = await clients[0].call(accountRoutes.walletChallenge, { query: { signer } });
    const body = { signer, signature: await wallet.signMessage(challenge.message) };
    const requests = Array.from({ length: 20 }, (_, at) => clientAt(at).call(accountRoutes.logInWithWallet, { body }));
    const outcomes = await Promise.allSettled(requests);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'challenge_unknown' });
    }
  });

  it('give a refresh token one successor', async () => {
    const session = await clients[0].signIn(wallet);
    const body = { refreshToken: session.refreshToken };
    const requests = Array.from({ length: 200 }, (_, at) => clientAt(at).call(accountRoutes.refreshSession, { body }));
    const sessions = await Promise.all(requests);
    expect(new Set(sessions.map(({ refreshToken }) => decodeJwt(refreshToken).jti)).size).toBe(1);
  });

  it('refuse within two seconds the access token of a session that was logged out at the other one', async () => {
    const session = await clients[0].signIn(wallet);
    const use = () =>
      fetch(`${running[1]?.url ?? ''}/user/${session.userId}/profile`, {
        method: 'POST',
        body: '{}',
        headers: { authorization: `Bearer ${session.accessToken}`, 'content-type': 'application/json' },
      });
    expect((await use()).status).toBe(200);
    await clients[0].call(accountRoutes.logOut, {});
    await eventually(async () => (await use()).status === 401, 2_000, 'the other process must refuse the token');
  });

  it('carry out a repeated login once', async () => {
    const signer = wallet.address;
    const challenge = await clients[0].call(accountRoutes.walletChallenge, { query: { signer } });
    const body = { signer, signature: await wallet.signMessage(challenge.message) };
    const repeats = Array.from({ length: 10 }, (_, at) =>
      clientAt(at).call(accountRoutes.logInWithWallet, { body, idempotencyKey: 'the-same' }),
    );
    const sessions = await Promise.all(repeats);
    expect(new Set(sessions.map(({ refreshToken }) => refreshToken)).size).toBe(1);
  });

  it("accept each other's tokens", async () => {
    const session = await clients[0].signIn(wallet);
    const id = { id: session.userId };
    const answer = await fetch(`${running[1]?.url ?? ''}/user/${id.id}/profile`, {
      method: 'POST',
      headers: { authorization: `Bearer ${session.accessToken}`, 'content-type': 'application/json' },
      body: '{"username":"ada"}',
    });
    expect(answer.status).toBe(200);
  });
});
