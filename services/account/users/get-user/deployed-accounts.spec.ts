import { expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { UserEntity } from '../../../../schemas/http/account/user-entity.ts';
import { usersModel } from '../../../../shared/read-models/account/users.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { projectStored } from '../../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { chainsOf, startAccountUnderTest } from '../../testing/account-under-test.ethers.ts';

const folder = temporaryFolder();

it('a smart account is deployed in every answer since it was, also in that of a command', async () => {
  await using account = await startAccountUnderTest(folder, { CHAINS: chainsOf([7, 'http://127.0.0.1:1']) });
  const { eventStore, readStore } = account.foundation;
  const { userId, accessToken } = await account.logIn(account.newWallet());
  const ask = async (path = '', body?: object) => {
    const options = body ? { method: 'POST', body } : {};
    const headers = { authorization: `Bearer ${accessToken}` };
    const answer = await account.ask(`/user/${userId}${path}`, { headers, ...options });
    const { username, smartAccounts } = (await answer.json()) as UserEntity;
    return [username, smartAccounts.map(({ chainId, deployed }) => [chainId, deployed])];
  };
  expect(await ask('/profile', { username: 'ada' })).toEqual(['ada', [[7, false]]]);
  const before = await eventStore.head();

  const included = { ...eventExamples.TxIncluded, userId, chainId: 7 };
  await eventStore.append('transaction-tx_1', -1, [anEvent({ type: 'TxIncluded', data: included })]);
  await projectStored(account.foundation, [usersModel]);
  expect(await ask()).toEqual(['ada', [[7, true]]]);
  expect(await ask('/profile', { username: 'bob' })).toEqual(['bob', [[7, true]]]);
  expect(await ask('/messenger', { messengerId: '42' })).toEqual(['bob', [[7, true]]]);
  await projectStored(account.foundation, [usersModel]);
  expect(await ask(`?asOf=${String(before)}`)).toEqual(['ada', [[7, false]]]);
  expect(await ask(`?asOf=${String(await eventStore.head())}`)).toEqual(['bob', [[7, true]]]);

  const since = await eventStore.head();
  const reorged = { ...eventExamples.TxReorged, userId, chainId: 7, transactionId: included.transactionId };
  await eventStore.append('transaction-tx_1', 0, [anEvent({ type: 'TxReorged', data: reorged })]);
  const left = await eventStore.head();
  await eventStore.append('transaction-tx_1', 1, [anEvent({ type: 'TxIncluded', data: included })]);
  await projectStored(account.foundation, [usersModel]);
  expect(await ask(`?asOf=${String(since)}`)).toEqual(['bob', [[7, true]]]);
  expect(await ask(`?asOf=${String(left)}`)).toEqual(['bob', [[7, false]]]);
  expect(await ask()).toEqual(['bob', [[7, true]]]);

  readStore.getMany = () => Promise.reject(new Error('down'));
  expect(await ask('/profile', { username: 'carl' })).toMatchObject(['carl', [[7, false]]]);
});
