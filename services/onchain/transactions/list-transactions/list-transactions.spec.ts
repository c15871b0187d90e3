import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Session } from '../../../../schemas/http/account/account-routes.ts';
import type { Transaction, TransactionPage } from '../../../../schemas/http/onchain/onchain-routes.ts';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { JsonRpcNode } from '../../../../shared/testing/chain/json-rpc-node.ts';
import { projectStored } from '../../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import {
  chainsOf,
  startAccountUnderTest,
  type AccountUnderTest,
} from '../../../account/testing/account-under-test.ethers.ts';
import { bundleReceiptOf } from '../../testing/bundle-receipts.ts';

const folder = temporaryFolder();
const { logIndex, transactionHash } = eventExamples.TxIncluded;
const { userOpHash, operation } = eventExamples.TxSubmitted;
const receipt = bundleReceiptOf(['before execution', { endOf: userOpHash }], logIndex - 1);

describe('the own transactions', () => {
  let account: AccountUnderTest;
  let node: JsonRpcNode;
  let ada: Session;
  let bob: Session;
  beforeAll(async () => {
    node = await JsonRpcNode.start(new MemoryChain(2484));
    node.receipts.set(transactionHash, receipt);
    account = await startAccountUnderTest(folder, { CHAINS: chainsOf([2484, node.url]) });
    ada = await account.logIn(account.newWallet());
    bob = await account.logIn(account.newWallet());
    const submissions = [
      ...([1, 2, 3, 4, 5] as const).map((at) => ({
        id: `tx_${String(at)}`,
        userId: ada.userId,
        chainId: 2484 + (at % 2),
      })),
      { id: 'tx_bob', userId: bob.userId, chainId: 2484 },
      { id: 'tx_rpc', userId: null, chainId: 2484 },
    ];
    for (const { id: transactionId, ...data } of submissions) {
      await account.foundation.eventStore.append(`transaction-${transactionId}`, -1, [
        anEvent({ type: 'TxSubmitted', data: { ...eventExamples.TxSubmitted, transactionId, ...data } }),
      ]);
    }
    const included = { ...eventExamples.TxIncluded, transactionId: 'tx_2', userId: ada.userId, chainId: 2484 };
    await account.foundation.eventStore.append('transaction-tx_2', 0, [
      anEvent({ type: 'TxIncluded', data: included }),
    ]);
    await projectStored(account.foundation);
  });
  afterAll(() => Promise.all([account.service.close(), node.stop()]));

  const ask = (path: string, { accessToken }: Session) =>
    account.ask(`/onchain/transactions${path}`, { headers: { authorization: `Bearer ${accessToken}` } });
  const list = async (query: string, session = ada) => {
    const answer = await ask(query, session);
    return { status: answer.status, body: (await answer.json()) as TransactionPage };
  };
  const get = async (id: string) => {
    const answer = await ask(`/${id}`, ada);
    return { status: answer.status, body: (await answer.json()) as Transaction };
  };
  const idsOf = async (query: string, session = ada) => (await list(query, session)).body.items.map(({ id }) => id);

  it('are listed, newest first, on all chains or on one', async () => {
    expect(await idsOf('')).toEqual(['tx_5', 'tx_4', 'tx_3', 'tx_2', 'tx_1']);
    expect(await idsOf('?chainId=2485')).toEqual(['tx_5', 'tx_3', 'tx_1']);
    expect(await idsOf('?chainId=1')).toEqual([]);
    expect(await idsOf('', bob)).toEqual(['tx_bob']);
  });

  it('are read page by page', async () => {
    const { body: first } = await list('?take=2');
    expect(first).toMatchObject({ take: 2, items: [{ id: 'tx_5' }, { id: 'tx_4' }] });
    const { body: second } = await list(`?take=2&cursor=${String(first.next)}`);
    expect(second.items.map(({ id }) => id)).toEqual(['tx_3', 'tx_2']);
    const { body: last } = await list(`?take=2&cursor=${String(second.next)}`);
    expect(last).toMatchObject({ items: [{ id: 'tx_1' }], next: null });
    expect((await list('?take=5')).body.next).toBeNull();
    const others = await list(`?cursor=${String(first.next)}`, bob);
    expect(others).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
    expect(await list('?cursor=x')).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
    expect(await list('?take=0')).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  });

  it('are told one by one, with every state and the receipt', async () => {
    const { status, body } = await get('tx_2');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: 'tx_2',
      status: 'included',
      history: [{ status: 'submitted' }, { status: 'included', transactionHash }],
      receipt: { userOpHash, success: true, receipt: { transactionHash } },
    });
    expect(new Set(Object.keys(body))).toEqual(
      new Set([
        ...['id', 'userOpHash', 'sender', 'chainId', 'entryPoint', 'nonce', 'sponsor', 'appId', 'to', 'value', 'data'],
        ...['status', 'createdAt', 'receipt', 'replacedBy', 'history'],
      ]),
    );
    const { body: pending } = await get('tx_1');
    expect(pending).toMatchObject({ status: 'submitted', receipt: null });
  });

  it('have no signature, neither listed nor one by one', async () => {
    const texts = JSON.stringify([await list(''), await get('tx_2')]);
    expect(texts).not.toContain(operation.signature.slice(2));
  });

  it.each(['tx_bob', 'tx_rpc', 'tx_none'])("are not another's: %s is 404", async (id) => {
    expect(await get(id)).toMatchObject({ status: 404, body: { code: 'transaction_not_found' } });
  });

  it('need a token', async () => {
    expect((await account.ask('/onchain/transactions')).status).toBe(401);
    expect((await account.ask('/onchain/transactions/tx_1')).status).toBe(401);
  });
});
