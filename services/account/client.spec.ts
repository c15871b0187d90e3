import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { accountRoutes } from '../../schemas/http/account-routes.ts';
import { AnnalsClient } from '../../shared/client/annals-client.ts';
import { historyModel } from '../../shared/read-models/history.ts';
import { projectStored } from '../../shared/testing/project.ts';
import { anEvent } from '../../shared/testing/event-builder.ts';
import { temporaryFolder } from '../../shared/testing/temporary-folder.ts';
import { ORIGIN, startAccountUnderTest, type AccountUnderTest } from './testing/account-under-test.ethers.ts';

const folder = temporaryFolder();

describe('the client at the account service', () => {
  let account: AccountUnderTest;
  let client: AnnalsClient;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
    const { apiKey, signingKey } = account.app;
    client = new AnnalsClient({
      accountUrl: account.service.url,
      eventUrl: account.service.url,
      app: { apiKey, origin: ORIGIN, signer: new Wallet(signingKey) },
      clock: account.clock,
    });
  });
  afterAll(() => account.service.close());

  const history = (userId: string) =>
    client.call(accountRoutes.readHistory, { params: { id: userId }, query: { take: 5 } });

  it('refuses to call a route that needs a session before it has signed in', async () => {
    await expect(history('usr_1')).rejects.toThrow('sign in first');
  });

  it('signs in, changes its profile, and reads its history only once that has caught up', async () => {
    const { userId } = await client.signIn(account.newWallet());
    const id = { id: userId };
    const user = await client.call(accountRoutes.updateProfile, { params: id, body: { username: 'ada' } });
    expect(user).toMatchObject({ id: userId, username: 'ada' });
    await expect(history(userId)).rejects.toMatchObject({ code: 'not_caught_up', problem: { retryAfter: 1 } });
    await projectStored(account.foundation, [historyModel]);
    expect(await history(userId)).toMatchObject({ items: { length: 5 }, take: 5, next: null });
  });

  it('reads what it had written before a command that was refused', async () => {
    const { userId } = await client.signIn(account.newWallet());
    const { eventStore } = account.foundation;
    await projectStored(account.foundation, [historyModel]);
    await eventStore.append(`thing-${userId}`, -1, [anEvent()]);
    const tooLong = { params: { id: userId }, body: { username: 'x'.repeat(51) } };
    await expect(client.call(accountRoutes.updateProfile, tooLong)).rejects.toThrow('validation_failed');
    await expect(history(userId)).rejects.toMatchObject({ code: 'not_caught_up' });
    await projectStored(account.foundation, [historyModel]);
    expect(await history(userId)).toMatchObject({ items: { length: 4 } });
  });

  it('throws the problem that the service answered', async () => {
    const { userId } = await client.signIn(account.newWallet());
    const tooLong = { params: { id: userId }, body: { username: 'x'.repeat(51) } };
    const failure = client.call(accountRoutes.updateProfile, tooLong);
    await expect(failure).rejects.toMatchObject({
      code: 'validation_failed',
      problem: { errors: [{ path: 'username' }] },
    });
  });

  it('renews an access token that is about to expire, once for several callers', async () => {
    await client.signIn(account.newWallet());
    const token = await client.accessToken();
    account.clock.time += 560_000;
    expect(await client.accessToken()).toBe(token);
    account.clock.time += 30_000;
    const renewed = await Promise.all([client.accessToken(), client.accessToken(), client.accessToken()]);
    expect(new Set(renewed).size).toBe(1);
    expect(renewed[0]).not.toBe(token);
  });
});
