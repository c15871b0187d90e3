import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Session } from '../../../schemas/http/account/account-routes.ts';
import { noncesStream } from '../../../schemas/events/onchain/nonce-events.ts';
import { transactionStream } from '../../../schemas/events/onchain/transaction-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { UserEntity } from '../../../schemas/http/account/user-entity.ts';
import { MemoryChain } from '../../../shared/testing/chain/chain-reader.memory.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { JsonRpcNode } from '../../../shared/testing/chain/json-rpc-node.ts';
import { problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { projectStored } from '../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { walletIdentity } from '../../account/users/domain/identity.ts';
import { accountAddress } from './domain/smart-account.ts';
import {
  chainsOf,
  startAccountUnderTest,
  type AccountUnderTest,
} from '../../account/testing/account-under-test.ethers.ts';
import { bearer } from '../../account/testing/sessions.ts';

const folder = temporaryFolder();
const FACTORY = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';
const ENTRY_POINT = '0x0000000071727De22E5E9d8BAf0edAc6f37da032';

describe('the smart accounts of a user', () => {
  let node: JsonRpcNode;
  let account: AccountUnderTest;
  const state = { eth_getBalance: '0x0', eth_getCode: '0x' };
  beforeAll(async () => {
    node = await JsonRpcNode.start(new MemoryChain(10));
    node.lie = (method, truth) => new Map(Object.entries(state)).get(method) ?? truth;
    account = await startAccountUnderTest(folder, { CHAINS: chainsOf([10, node.url], [2484, 'http://127.0.0.1:1']) });
  });
  afterAll(async () => {
    await account.service.close();
    await node.stop();
  });

  const assigned = async (userId: string) =>
    (await account.foundation.eventStore.read(`user-${userId}`))
      .filter(({ type }) => type === 'SmartAccountAssigned')
      .map(({ data }) => data);
  const erase = (session: Session, query = '') =>
    account.ask(`/user/${session.userId}${query}`, { method: 'DELETE', headers: bearer(session) });

  it('are assigned with the registration, one address on every chain, although no chain answers', async () => {
    const session = await account.logIn(account.newWallet());
    const { userId } = session;
    const events = await account.foundation.eventStore.read(`user-${userId}`);
    expect(events.map(({ type }) => type)).toEqual([
      'UserRegistered',
      'SmartAccountAssigned',
      'SmartAccountAssigned',
      'IdentityLinked',
      'UserLoggedIn',
    ]);
    const [first, second] = await assigned(userId);
    const owner = first?.['owner'] as string;
    const address = accountAddress(FACTORY, owner);
    const contracts = { factory: FACTORY, entryPoint: ENTRY_POINT };
    expect(first).toEqual({ userId, chainId: 10, address, owner, ...contracts });
    expect(second).toEqual({ userId, chainId: 2484, address, owner, ...contracts });
    await projectStored(account.foundation);
    const user = (await (await account.ask(`/user/${userId}`, { headers: bearer(session) })).json()) as UserEntity;
    expect(user.smartAccounts).toEqual([
      { chainId: 10, address, owner, ...contracts, deployed: false },
      { chainId: 2484, address, owner, ...contracts, deployed: false },
    ]);
  });

  it('are assigned once, to another owner for every user', async () => {
    const wallet = account.newWallet();
    const { userId } = await account.logIn(wallet);
    await account.logIn(wallet);
    const mine = await assigned(userId);
    expect(mine).toHaveLength(2);
    const other = await assigned((await account.logIn(account.newWallet())).userId);
    expect(other[0]?.['owner']).not.toBe(mine[0]?.['owner']);
  });

  it('are assigned at the next login to who was registered before, and on a chain that is new', async () => {
    const wallet = account.newWallet();
    const userId = wallet.address.toLowerCase();
    const { identityId, label } = walletIdentity(wallet.address);
    const { eventStore } = account.foundation;
    const owner = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
    const before = {
      userId,
      chainId: 10,
      address: accountAddress(FACTORY, owner),
      owner,
      factory: FACTORY,
      entryPoint: ENTRY_POINT,
    };
    await eventStore.append(`identity-${identityId}`, -1, [
      anEvent({ type: 'IdentityClaimed', data: { identityId, method: 'wallet', label, userId } }),
    ]);
    await eventStore.append(`user-${userId}`, -1, [
      anEvent({ type: 'UserRegistered', data: { userId } }),
      anEvent({ type: 'SmartAccountAssigned', data: before }),
    ]);
    await account.logIn(wallet);
    expect(await assigned(userId)).toEqual([before, { ...before, chainId: 2484 }]);
  });

  it('keep a user from being erased while one is deployed or holds balance, but for who abandons it', async () => {
    const session = await account.logIn(account.newWallet());
    const { keyVault } = account.foundation;
    const ownerKey = async () => (await keyVault.get([`owner-${session.userId}`])).get(`owner-${session.userId}`);
    for (const used of [{ eth_getBalance: '0x1' }, { eth_getCode: '0x6000' }]) {
      Object.assign(state, { eth_getBalance: '0x0', eth_getCode: '0x' }, used);
      const refused = await erase(session);
      expect(await problemOfAnswer(refused)).toMatchObject({ status: 409, code: 'account_in_use' });
    }
    expect((await ownerKey())?.sealed).not.toBeNull();
    expect((await erase(session, '?abandon=true')).status).toBe(204);
    expect((await ownerKey())?.sealed).toBeNull();
    Object.assign(state, { eth_getBalance: '0x0', eth_getCode: '0x' });
  });

  it('keep a user from being erased while a send is under way, and the refusal says that tokens were not looked at', async () => {
    const session = await account.logIn(account.newWallet());
    const { eventStore } = account.foundation;
    const sender = (await assigned(session.userId))[0]?.['address'] as string;
    const transactionId = 'tx_under_way';
    const nonce = { ...eventExamples.NonceAssigned, chainId: 10, sender, transactionId };
    await eventStore.append(noncesStream(10, sender), -1, [anEvent({ type: 'NonceAssigned', data: nonce })]);
    const submitted = { ...eventExamples.TxSubmitted, chainId: 10, sender, transactionId };
    await eventStore.append(transactionStream(transactionId), -1, [anEvent({ type: 'TxSubmitted', data: submitted })]);
    expect(await problemOfAnswer(await erase(session))).toMatchObject({
      ...{ status: 409, code: 'account_in_use' },
      detail: expect.stringMatching(/has a send under way \(tx_under_way\).*Tokens .* were not looked at/),
    });
    expect((await erase(session, '?abandon=true')).status).toBe(204);
  });

  it('keep a user from being erased while a chain cannot be asked', async () => {
    const session = await account.logIn(account.newWallet());
    expect(await problemOfAnswer(await erase(session))).toMatchObject({
      status: 503,
      code: 'dependency_unavailable',
      detail: expect.stringContaining('chain 2484 cannot be asked'),
    });
    expect(await problemOfAnswer(await erase(session, '?abandon=yes'))).toMatchObject({ code: 'validation_failed' });
  });
});
