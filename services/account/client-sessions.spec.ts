import { Wallet } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createClient, type AnnalsClient, type ClientOptions } from '../../shared/client/annals-client.ts';
import { systemClock } from '../../shared/primitives/clock.ts';
import { temporaryFolder } from '../../shared/testing/temporary-folder.ts';
import { ORIGIN, startAccountUnderTest, type AccountUnderTest } from './testing/account-under-test.ethers.ts';

const folder = temporaryFolder();
const HOUR_MS = 3_600_000;
const LIFE_MS = 600_000;

interface Sent {
  path: string;
  key: string | null;
}

describe('the session of a client', () => {
  let account: AccountUnderTest;
  let storage: Map<string, string>;
  let client: AnnalsClient;
  let sent: Sent[];
  /** What becomes of the next answers of a path, once the service has carried out the request. */
  let lost: string[];
  /** What happens before a client hears the answer of its next refresh. */
  let meanwhile: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
  });
  afterAll(() => account.service.close());
  const clientOf = (options: Partial<ClientOptions> = {}): AnnalsClient => {
    const { apiKey, signingKey } = account.app;
    const signer = new Wallet(signingKey);
    const { url } = account.service;
    return createClient({
      ...{ accountUrl: url, eventUrl: url, streamUrl: url, apiKey, origin: ORIGIN, storage, clock: account.clock },
      ...{ signRequest: ({ text }) => signer.signMessage(text), repeats: 0 },
      ...options,
    });
  };
  beforeEach(() => {
    [sent, lost] = [[], []];
    storage = new Map();
    meanwhile = undefined;
    const real = globalThis.fetch;
    jest.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
      const { pathname } = new URL(url instanceof Request ? url.url : url);
      sent.push({ path: pathname, key: new Headers(init?.headers).get('idempotency-key') });
      const answer = await real(url, init);
      if (pathname === '/auth/refresh') {
        const happens = meanwhile;
        meanwhile = undefined;
        await happens?.();
      }
      if (lost[0] !== pathname) return answer;
      lost.shift();
      await answer.body?.cancel();
      throw new TypeError('the connection was lost');
    });
    client = clientOf();
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const refreshes = () => sent.filter(({ path }) => path === '/auth/refresh');

  it('survives a lost answer of a refresh, however late it is repeated and by whom', async () => {
    await client.login.wallet(account.newWallet());
    account.clock.time += LIFE_MS;
    lost = ['/auth/refresh'];
    await expect(client.accessToken()).rejects.toMatchObject({ code: 'network_error', status: 0 });
    account.clock.time += HOUR_MS;
    // As after a crash: another process with the same storage.
    const token = await clientOf().accessToken();
    const [first, second] = refreshes();
    expect([first?.key, sent.length]).toEqual([second?.key, 4]);
    expect(first?.key).toMatch(/^[0-9a-f]{48}$/);
    expect(await client.accessToken()).toBe(token);
    account.clock.time += LIFE_MS;
    expect(await client.accessToken()).not.toBe(token);
    expect(new Set(refreshes().map(({ key }) => key)).size).toBe(2);
  });

  it('is refreshed once for all clients that share a storage', async () => {
    await client.login.wallet(account.newWallet());
    account.clock.time += LIFE_MS;
    const clients = [client, clientOf(), clientOf(), client];
    const tokens = await Promise.all(clients.map((one) => one.accessToken()));
    expect([new Set(tokens).size, refreshes().length]).toEqual([1, 1]);
  });

  it.each(['another login', 'a logout'])('is not brought back by a refresh that %s overtakes', async (what) => {
    await client.login.wallet(account.newWallet());
    account.clock.time += LIFE_MS;
    const other = clientOf();
    const wallet = account.newWallet();
    const overtake = async () => {
      if (what === 'a logout') storage.clear();
      else await other.login.wallet(wallet);
    };
    meanwhile = overtake;
    const token = client.accessToken();
    if (what === 'a logout') await expect(token).rejects.toMatchObject({ code: 'not_signed_in' });
    else expect(await token).toBe(await other.accessToken());
    expect(refreshes()).toHaveLength(1);
    const theirs = { status: 'signed_in', userId: wallet.address.toLowerCase() };
    expect(await client.session.load()).toEqual(what === 'a logout' ? { status: 'signed_out' } : theirs);
  });

  it('is none if the storage holds something else', async () => {
    await client.login.wallet(account.newWallet());
    for (const key of storage.keys()) storage.set(key, '{"half');
    await expect(clientOf().accessToken()).rejects.toMatchObject({ code: 'not_signed_in' });
  });

  it('ends with a typed error once it was revoked, and not while the service fails', async () => {
    const states: unknown[] = [];
    client.session.onChange(() => states.push(client.session.state.status));
    const { accessToken } = await client.login.wallet(account.newWallet());
    account.clock.time += LIFE_MS - 1_000;
    jest.spyOn(globalThis, 'fetch').mockResolvedValueOnce(new Response('Bad Gateway', { status: 403 }));
    await expect(client.accessToken()).rejects.toMatchObject({ code: 'unexpected_answer', status: 403 });
    const ended = await account.ask('/auth/logout', {
      method: 'POST',
      headers: { authorization: `Bearer ${accessToken}` },
    });
    expect(ended.status).toBe(204);
    await expect(client.accessToken()).rejects.toMatchObject({ code: 'session_revoked', status: 401 });
    await expect(client.accessToken()).rejects.toMatchObject({ code: 'not_signed_in' });
    expect(states).toEqual(['signed_in', 'signed_out']);
    expect([...storage.keys()]).toEqual([]);
  });

  it('is refreshed when a service says that the token has expired, whatever the clock here says', async () => {
    let behindMs = 0;
    const clock = { ...systemClock, now: () => account.clock.now() - behindMs };
    const late = clientOf({ clock, storage: new Map() });
    const { userId } = await late.login.wallet(account.newWallet());
    behindMs = LIFE_MS + HOUR_MS;
    account.clock.time += LIFE_MS + 60_000;
    await late.routes.updateProfile({ params: { id: userId }, body: { username: 'Ada' } });
    const path = `/user/${userId}/profile`;
    expect(sent.slice(2).map((one) => one.path)).toEqual([path, '/auth/refresh', path]);
  });

  it.each([-2 * HOUR_MS, 2 * HOUR_MS])('begins although the clock here is wrong by %d ms', async (wrongMs) => {
    const clock = { ...systemClock, now: () => account.clock.now() + wrongMs };
    const wrong = clientOf({ clock });
    await wrong.login.wallet(account.newWallet());
    await wrong.login.wallet(account.newWallet());
    expect(sent.map(({ path }) => path.split('/').at(-1))).toEqual([
      'challenge',
      ...['challenge', 'web3'],
      'challenge',
      'web3',
    ]);
    const token = await wrong.accessToken();
    expect(await wrong.accessToken()).toBe(token);
    expect(refreshes()).toEqual([]);
  });

  it('is one of each login, and a login that links adds an identity', async () => {
    const { userId } = await client.login.wallet(account.newWallet());
    const linked = await client.login.wallet(account.newWallet(), { link: true });
    expect(linked.userId).toBe(userId);
    const other = await client.login.wallet(account.newWallet());
    expect(other.userId).not.toBe(userId);
    await client.logout();
    expect(client.session.state).toEqual({ status: 'signed_out' });
    await expect(client.history()).rejects.toMatchObject({ code: 'not_signed_in' });
  });

  it('is begun by many requests of one millisecond, each signed by itself', async () => {
    const wallet = account.newWallet();
    const challenges = Array.from({ length: 5 }, () =>
      client.routes.walletChallenge({ query: { signer: wallet.address } }),
    );
    expect(new Set((await Promise.all(challenges)).map(({ nonce }) => nonce)).size).toBe(5);
  });

  it('ends no request that its caller has given up', async () => {
    const reason = new Error('enough');
    await expect(client.login.wallet(account.newWallet(), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('repeats a query that failed, and a command only with a key', async () => {
    const patient = clientOf({ repeats: 2 });
    const { userId } = await patient.login.wallet(account.newWallet());
    lost = ['/universal-account', '/universal-account'];
    expect(await patient.routes.status()).toMatchObject({ status: 'ok' });
    const path = `/user/${userId}/profile`;
    const command = { params: { id: userId }, body: { username: 'Ada' } };
    lost = [path];
    await expect(patient.routes.updateProfile(command)).rejects.toMatchObject({ code: 'network_error' });
    lost = [path];
    const user = await patient.routes.updateProfile({ ...command, body: { username: 'Bob' }, idempotencyKey: 'one' });
    expect(user).toMatchObject({ username: 'Bob', revision: expect.any(Number) });
    expect(sent.filter((one) => one.path === path).map(({ key }) => key)).toEqual([null, 'one', 'one']);
  });
});
