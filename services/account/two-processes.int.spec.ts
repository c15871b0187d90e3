import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Wallet } from 'ethers';
import { decodeJwt } from 'jose';
import { accountRoutes } from '../../schemas/http/account-routes.ts';
import { AnnalsClient } from '../../shared/client/annals-client.ts';
import { Transactor } from '../../shared/event-store/transact.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import { closeEngines, everyEngine, openEngines } from '../../shared/host/engines.ts';
import { eventually } from '../../shared/testing/eventually.ts';
import { atOnce } from '../../shared/testing/at-once.ts';
import { temporaryFolder } from '../../shared/testing/temporary-folder.ts';
import { testFoundation } from '../../shared/testing/test-foundation.ts';
import { someMetadata } from '../../shared/testing/event-builder.ts';
import { startAccount } from './account.module.ts';
import { appAdministration } from './app-administration.ts';
import {
  issueOneTimePassword,
  oneTimePasswordFold,
  oneTimePasswordsKept,
  oneTimePasswordStream,
} from './domain/one-time-password.ts';
import { IdentityIds } from './edge/identity-ids.ts';
import { newestPassword, wrong } from './testing/one-time-passwords.ts';

const DATA_DIR = temporaryFolder();
const ORIGIN = 'https://app.example';
const appToRegister = { name: 'Example', origins: [ORIGIN], redirectUris: [], scheme: 'v1' as const };

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

type ProcessFoundation = Awaited<ReturnType<typeof startProcess>>['foundation'];

describe('two account processes on one folder', () => {
  const running: Awaited<ReturnType<typeof startProcess>>[] = [];
  let wallet: ReturnType<typeof Wallet.createRandom>;
  let clients: [AnnalsClient, AnnalsClient];

  let foundations: [ProcessFoundation, ProcessFoundation];
  const clientAt = (at: number) => clients[at % 2 === 0 ? 0 : 1];

  beforeAll(async () => {
    const first = await startProcess();
    const second = await startProcess();
    running.push(first, second);
    foundations = [first.foundation, second.foundation];
    const { apiKey, signingKey } = await appAdministration(first.foundation).register(appToRegister);
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
    const sessions = await atOnce(1_000, (at) => clientAt(at).call(accountRoutes.refreshSession, { body }));
    expect(new Set(sessions.map(({ refreshToken }) => decodeJwt(refreshToken).jti)).size).toBe(1);
  });

  it('make one user of 500 first logins at once', async () => {
    const newcomer = Wallet.createRandom();
    const signer = newcomer.address;
    const [first, second] = running;
    if (!first || !second) throw new Error('two processes must run');
    const logins: (() => Promise<{ userId: string }>)[] = [];
    // A signer has ten open challenges at an app.
    for (let app = 0; app < 50; app += 1) {
      const { apiKey, signingKey } = await appAdministration(first.foundation).register(appToRegister);
      const client = new AnnalsClient({
        accountUrl: app % 2 === 0 ? first.url : second.url,
        eventUrl: first.url,
        app: { apiKey, origin: ORIGIN, signer: new Wallet(signingKey) },
      });
      for (let at = 0; at < 10; at += 1) {
        const { message } = await client.call(accountRoutes.walletChallenge, { query: { signer } });
        const body = { signer, signature: newcomer.signMessageSync(message) };
        logins.push(() => client.call(accountRoutes.logInWithWallet, { body }));
      }
    }
    const outcomes = await Promise.allSettled(logins.map((logIn) => logIn()));
    const sessions = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(new Set(sessions.map(({ userId }) => userId))).toEqual(new Set([signer.toLowerCase()]));
    for (const outcome of outcomes) {
      // On a machine that is slow some take longer than an answer may.
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'dependency_unavailable' });
    }
    const types = (await first.foundation.eventStore.read(`user-${signer.toLowerCase()}`)).map(({ type }) => type);
    expect(types.slice(0, 3)).toEqual(['UserRegistered', 'IdentityLinked', 'UserLoggedIn']);
    expect(new Set(types.slice(3))).toEqual(new Set(['UserLoggedIn']));
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

  it('evaluate five of 200 parallel guesses of a one-time password', async () => {
    const email = 'guessed@mail.example';
    await clients[0].call(accountRoutes.requestEmailPassword, { body: { email } });
    const password = await newestPassword(running[0]?.url ?? '', email);
    const guesses = Array.from({ length: 200 }, (_, at) => ({ email, otp: wrong(password, at + 1) }));
    const attempts = guesses.map((body, at) => clientAt(at).call(accountRoutes.logInWithEmail, { body }));
    for (const outcome of await Promise.allSettled(attempts)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'otp_invalid' } });
    }
    const identityId = running[1]?.service.app.get(IdentityIds).keyedIdentity('email', email) ?? '';
    const types = (await foundations[0].eventStore.read(oneTimePasswordStream(identityId))).map(({ type }) => type);
    expect(types).toEqual(['OtpIssued', ...Array<string>(5).fill('OtpGuessed')]);
    const last = clients[0].call(accountRoutes.logInWithEmail, { body: { email, otp: password } });
    await expect(last).rejects.toMatchObject({ code: 'otp_invalid' });
  });

  it('redeem a one-time password once', async () => {
    const email = 'redeemed@mail.example';
    await clients[0].call(accountRoutes.requestEmailPassword, { body: { email } });
    const body = { email, otp: await newestPassword(running[0]?.url ?? '', email) };
    const attempts = Array.from({ length: 20 }, (_, at) => clientAt(at).call(accountRoutes.logInWithEmail, { body }));
    const outcomes = await Promise.allSettled(attempts);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('send as many one-time passwords a day as one process does', async () => {
    const email = 'counted@mail.example';
    const limits = [{ name: 'otpRequestDay', points: 3, seconds: 86_400 }] as const;
    const issue = (at: number) => {
      const foundation = foundations[at % 2 === 0 ? 0 : 1];
      const { eventStore, clock, ids } = foundation;
      return new Transactor(eventStore, clock, ids, personalDataOf(foundation)).transact({
        stream: oneTimePasswordStream(email),
        fold: oneTimePasswordFold,
        metadata: someMetadata,
        keep: oneTimePasswordsKept,
        decide: (state, nowMs) =>
          issueOneTimePassword(state, nowMs, {
            otpId: String(at),
            appId: String(at),
            passwordHash: '',
            capitals: [],
            limits,
          }),
      });
    };
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, (_, at) => issue(at)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
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
