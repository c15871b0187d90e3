import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Session } from '../../../../schemas/http/account/account-routes.ts';
import { exportedItem, historyPage } from '../../../../schemas/http/account/history.ts';
import { NO_STREAM } from '../../../../shared/event-store/event-store.ts';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { historyModel } from '../../../../shared/read-models/account/history.ts';
import { transactionsModel } from '../../../../shared/read-models/onchain/transactions.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { codeOf } from '../../../../shared/testing/http/problem-of-answer.ts';
import { projectStored } from '../../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { bearer } from '../../testing/sessions.ts';

const folder = temporaryFolder();

describe('the history of a user', () => {
  let account: AccountUnderTest;
  let session: Session;
  beforeEach(async () => {
    account = await startAccountUnderTest(folder);
    session = await account.logIn(account.newWallet());
  });
  afterEach(() => account.service.close());

  const ask = (path: string) => account.ask(`/user/${session.userId}/history${path}`, { headers: bearer(session) });
  const itemsOf = async (answer: Response) => historyPage.parse(await answer.json()).items;
  const submitted = async (transactionId: string) => {
    const data = { ...eventExamples.TxSubmitted, userId: session.userId, transactionId };
    const event = await personalDataOf(account.foundation).seal(anEvent({ type: 'TxSubmitted', data }));
    await account.foundation.eventStore.append(`transaction-${transactionId}`, NO_STREAM, [event]);
  };

  it('is not answered, neither as empty nor in part, while it is projected anew', async () => {
    expect(await codeOf(await ask(''))).toBe('not_caught_up');
    const { readStore, eventStore } = account.foundation;
    const [first] = await eventStore.read(`user-${session.userId}`, { limit: 1 });
    await readStore.apply(historyModel.name, [], first?.position ?? 0);
    expect(await codeOf(await ask(''))).toBe('not_caught_up');
    await readStore.apply(historyModel.name, [], await eventStore.head());
    expect(await codeOf(await ask(''))).toBe('not_caught_up');
  });

  it('has sessions and transactions, of which the position is one of the store', async () => {
    await submitted('tx_1');
    await projectStored(account.foundation);
    const items = await itemsOf(await ask('?take=100'));
    expect(items.map(({ type }) => type)).toEqual([
      ...['UserRegistered', 'IdentityLinked', 'UserLoggedIn', 'SessionStarted', 'TxSubmitted'],
    ]);
    const [registered] = items;
    const then = await account.ask(`/user/${session.userId}?asOf=${registered?.position ?? ''}`, {
      headers: bearer(session),
    });
    expect(await then.json()).toMatchObject({ id: session.userId, identities: [] });
  });

  it('is exported from the event store, while its read model is projected anew', async () => {
    await submitted('tx_1');
    await projectStored(account.foundation, [transactionsModel]);
    const answer = await ask('/export');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    const lines = (await answer.text()).trimEnd().split('\n').slice(0, -1);
    const exported = lines.map((line) => exportedItem.parse(JSON.parse(line)));
    expect(exported.map(({ type }) => type)).toContain('TxSubmitted');
    await projectStored(account.foundation, [historyModel]);
    const items = await itemsOf(await ask('?take=100'));
    expect(items.map(({ hash, data }) => [hash, data])).toEqual(exported.map(({ hash, data }) => [hash, data]));
  });

  it('is not exported while nobody knows its transactions', async () => {
    await submitted('tx_1');
    expect(await codeOf(await ask('/export'))).toBe('not_caught_up');
  });

  it('ends when nobody waits for it, and others go on', async () => {
    await projectStored(account.foundation);
    const gone = new AbortController();
    const url = `${account.service.url}/user/${session.userId}/history/export`;
    const answers = Array.from({ length: 20 }, () => fetch(url, { headers: bearer(session), signal: gone.signal }));
    gone.abort();
    for (const answer of await Promise.allSettled(answers)) expect(answer.status).toBe('rejected');
    expect((await ask('/export')).status).toBe(200);
  });
});
