import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createClient, type AnnalsClient } from '../../shared/client/annals-client.ts';
import { historyModel } from '../../shared/read-models/account/history.ts';
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
    const signer = new Wallet(signingKey);
    const { url } = account.service;
    client = createClient({
      ...{ accountUrl: url, eventUrl: url, streamUrl: url, apiKey, origin: ORIGIN, repeats: 0, clock: account.clock },
      signRequest: ({ text }) => signer.signMessage(text),
    });
  });
  afterAll(() => account.service.close());

  const history = (userId: string) => client.routes.readHistory({ params: { id: userId }, query: { take: 5 } });

  it('refuses to call a route that needs a session before it has signed in', async () => {
    await expect(history('usr_1')).rejects.toMatchObject({ code: 'not_signed_in' });
  });

  it('signs in, changes its profile, and reads its history only once that has caught up', async () => {
    const { userId } = await client.login.wallet(account.newWallet());
    const id = { id: userId };
    const user = await client.routes.updateProfile({ params: id, body: { username: 'ada' } });
    expect(user).toMatchObject({ id: userId, username: 'ada' });
    await expect(history(userId)).rejects.toMatchObject({ code: 'not_caught_up', problem: { retryAfter: 1 } });
    await projectStored(account.foundation, [historyModel]);
    expect(await history(userId)).toMatchObject({ items: { length: 5 }, take: 5, next: null });
  });

  it('reads what it had written before a command that was refused', async () => {
    const { userId } = await client.login.wallet(account.newWallet());
    const { eventStore } = account.foundation;
    await projectStored(account.foundation, [historyModel]);
    await eventStore.append(`thing-${userId}`, -1, [anEvent()]);
    const tooLong = { params: { id: userId }, body: { username: 'x'.repeat(51) } };
    await expect(client.routes.updateProfile(tooLong)).rejects.toThrow('validation_failed');
    await expect(history(userId)).rejects.toMatchObject({ code: 'not_caught_up' });
    await projectStored(account.foundation, [historyModel]);
    expect(await history(userId)).toMatchObject({ items: { length: 4 } });
  });

  it('throws the problem that the service answered', async () => {
    const { userId } = await client.login.wallet(account.newWallet());
    const tooLong = { params: { id: userId }, body: { username: 'x'.repeat(51) } };
    const failure = client.routes.updateProfile(tooLong);
    await expect(failure).rejects.toMatchObject({
      code: 'validation_failed',
      problem: { errors: [{ path: 'username' }] },
    });
  });

  it('renews an access token that is about to expire, once for several callers', async () => {
    await client.login.wallet(account.newWallet());
    const token = await client.accessToken();
    account.clock.time += 500_000;
    expect(await client.accessToken()).toBe(token);
    account.clock.time += 30_000;
    const renewed = await Promise.all([client.accessToken(), client.accessToken(), client.accessToken()]);
    expect(new Set(renewed).size).toBe(1);
    expect(renewed[0]).not.toBe(token);
  });
});
