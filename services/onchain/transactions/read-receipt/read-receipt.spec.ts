import { setImmediate as tick } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { freezeTimers, untilTrue } from '../../../../shared/testing/http/frozen-timers.ts';
import { JsonRpcNode } from '../../../../shared/testing/chain/json-rpc-node.ts';
import { projectStored } from '../../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { transactionsModel } from '../../../../shared/read-models/onchain/transactions.ts';
import {
  chainsOf,
  startAccountUnderTest,
  type AccountUnderTest,
} from '../../../account/testing/account-under-test.ethers.ts';
import { bundleReceiptOf } from '../../testing/bundle-receipts.ts';
import { ANSWER_WITHIN_MS } from '../../../../shared/edge/server/request-deadline.ts';

const folder = temporaryFolder();
const { transactionId, userOpHash, chainId } = eventExamples.TxSubmitted;
const { blockHash, blockNumber, logIndex } = eventExamples.TxIncluded;
const path = `/onchain/user-op-receipt/${String(chainId)}/${userOpHash}`;
const receipt = bundleReceiptOf(['before execution', { of: '1' }, { endOf: userOpHash }], logIndex - 2);
const CONFIRMATIONS = 3;
/** How long a service that stops waits for its requests. */
const DRAINED_AFTER_MS = 2_000;
/** Time between two reads of a transaction that a request waits for. */
const POLL_MS = 25;

describe('the receipt of an operation that was accepted', () => {
  let chain: MemoryChain;
  let node: JsonRpcNode;
  let account: AccountUnderTest;
  let revision: number;
  /** How often a document was read. */
  let reads: number;
  beforeEach(async () => {
    revision = -1;
    reads = 0;
    chain = new MemoryChain(chainId);
    while (chain.tip.number < blockNumber + CONFIRMATIONS - 1) chain.mine([]);
    node = await JsonRpcNode.start(chain);
    node.receipts.set(receipt.transactionHash, receipt);
    account = await startAccountUnderTest(
      folder,
      { CHAINS: chainsOf([chainId, node.url]) },
      { answerWithinMs: ANSWER_WITHIN_MS },
    );
    const { readStore } = account.foundation;
    const find = readStore.find.bind(readStore);
    readStore.find = async (...asked) => {
      const found = await find(...asked);
      if (asked[0] === transactionsModel.collections.transaction.name) reads += 1;
      return found;
    };
  });
  afterEach(async () => {
    jest.useRealTimers();
    await Promise.all([account.service.close(), node.stop()]);
  });

  const happen = async (type: keyof typeof eventExamples, data: object = {}) => {
    await account.foundation.eventStore.append(`transaction-${transactionId}`, revision, [
      anEvent({ type, data: { ...eventExamples[type], ...data } }),
    ]);
    revision += 1;
    await projectStored(account.foundation, [transactionsModel]);
  };
  const read = async (query = '') => {
    const answer = await account.ask(path + query);
    return { status: answer.status, body: (await answer.json()) as object };
  };
  /** Waits until so many requests have read the document, and wait for its next change. */
  const allWait = async (times: number) => {
    await untilTrue(() => reads === times);
    await tick();
  };

  it('is null while no block has the operation, and the chain is not asked', async () => {
    await happen('TxSubmitted');
    expect(await read()).toEqual({
      status: 200,
      body: { userOpHash, status: 'submitted', confirmations: 0, receipt: null, replacedBy: null },
    });
    expect(node.asked).toEqual([]);
  });

  it('has the receipt and the confirmations of the chain once a block has it', async () => {
    await happen('TxSubmitted');
    await happen('TxIncluded');
    const { body } = await read();
    expect(body).toMatchObject({
      ...{ userOpHash, status: 'included', confirmations: CONFIRMATIONS, replacedBy: null },
      receipt: { success: true, actualGasUsed: '0x2bf20', logs: [{ topics: [`0x${'1'.repeat(64)}`] }], receipt },
    });
    chain.mine([]);
    expect((await read()).body).toMatchObject({ confirmations: CONFIRMATIONS + 1 });
    expect(node.asked.filter((method) => method === 'eth_getTransactionReceipt')).toHaveLength(1);
  });

  it('is read by a hash in any letter case', async () => {
    await happen('TxSubmitted');
    const upper = `/onchain/user-op-receipt/${String(chainId)}/0x${userOpHash.slice(2).toUpperCase()}`;
    expect((await account.ask(upper)).status).toBe(200);
  });

  it('says what the call reverted with, and what took the nonce', async () => {
    await happen('TxSubmitted');
    await happen('TxReverted', { reason: '0x08c379a0' });
    expect((await read()).body).toMatchObject({
      ...{ status: 'reverted', receipt: { success: false, reason: '0x08c379a0' } },
    });
    await happen('TxReorged', { blockHash });
    expect((await read()).body).toMatchObject({ status: 'submitted', confirmations: 0, receipt: null });
    await happen('TxReplaced');
    const { replacedBy } = eventExamples.TxReplaced;
    expect((await read()).body).toMatchObject({ status: 'replaced', receipt: null, replacedBy });
  });

  it('is answered 503 while the chain does not answer, or has the transaction in another block', async () => {
    await happen('TxSubmitted');
    await happen('TxIncluded');
    node.receipts.set(receipt.transactionHash, { ...receipt, blockHash: `0x${'9'.repeat(64)}`, logs: [] });
    expect(await read()).toMatchObject({ status: 503, body: { code: 'dependency_unavailable' } });
    node.receipts.delete(receipt.transactionHash);
    expect(await read()).toMatchObject({ status: 503, body: { code: 'dependency_unavailable' } });
    await node.stop();
    expect(await read()).toMatchObject({ status: 503, body: { code: 'dependency_unavailable' } });
    node = await JsonRpcNode.start(chain);
  });

  it('is 404 at once where the operation is not known, also with wait', async () => {
    await happen('TxSubmitted', { userOpHash: `0x${'9'.repeat(64)}` });
    freezeTimers();
    expect(await read('?wait=30')).toMatchObject({ status: 404, body: { code: 'user_op_not_found' } });
    const elsewhere = await account.ask(`/onchain/user-op-receipt/5/${userOpHash}`);
    expect(elsewhere.status).toBe(404);
  });

  it('is answered on the next change to who waits, however many do', async () => {
    await happen('TxSubmitted');
    freezeTimers();
    const waiting = Array.from({ length: 5 }, () => read('?wait=20'));
    await allWait(waiting.length);
    await happen('TxDelayed');
    await happen('TxIncluded');
    jest.advanceTimersByTime(POLL_MS);
    for (const { body } of await Promise.all(waiting)) {
      expect(body).toMatchObject({ status: 'included', receipt: { success: true } });
    }
  });

  it('is answered after that time where nothing happens, also later than requests are answered else', async () => {
    await happen('TxSubmitted');
    freezeTimers();
    let isAnswered = false;
    const answer = read('?wait=6').finally(() => (isAnswered = true));
    await allWait(1);
    for (let ms = POLL_MS; ms < 6_000; ms += POLL_MS) {
      jest.advanceTimersByTime(POLL_MS);
      await tick();
    }
    expect(isAnswered).toBe(false);
    jest.advanceTimersByTime(POLL_MS);
    expect(await answer).toMatchObject({ status: 200, body: { status: 'submitted' } });
  });

  it.each([
    ['TxFinalized', 'final'],
    ['TxDropped', 'dropped'],
  ] as const)('is answered at once where nothing can change any more: %s', async (type, status) => {
    await happen('TxSubmitted');
    if (type === 'TxFinalized') await happen('TxIncluded');
    await happen(type);
    freezeTimers();
    expect((await read('?wait=30')).body).toMatchObject({ status });
  });

  it.each(['?wait=0', '?wait=31', '?wait=1.5', '?wait=-1', '?wait=x', '?wait='])('refuses %s', async (query) => {
    expect(await read(query)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  });

  it('does not keep a service from stopping that is waited for', async () => {
    await happen('TxSubmitted');
    freezeTimers();
    const waiting = read('?wait=30').catch((error: unknown) => error);
    await allWait(1);
    const closed = account.service.close();
    jest.advanceTimersByTime(DRAINED_AFTER_MS);
    await closed;
    expect(await waiting).toMatchObject({ message: 'fetch failed' });
  });
});
