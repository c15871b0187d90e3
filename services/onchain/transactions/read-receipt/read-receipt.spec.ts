import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
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
import { startStopwatch } from '../../../../shared/testing/stopwatch.ts';

const folder = temporaryFolder();
const { transactionId, userOpHash, chainId } = eventExamples.TxSubmitted;
const { blockHash, blockNumber, logIndex } = eventExamples.TxIncluded;
const path = `/onchain/user-op-receipt/${String(chainId)}/${userOpHash}`;
const receipt = bundleReceiptOf(['before execution', { of: '1' }, { endOf: userOpHash }], logIndex - 2);
const CONFIRMATIONS = 3;

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
  afterEach(() => Promise.all([account.service.close(), node.stop()]));

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
  const allRead = (times: number) =>
    eventually(() => reads === times, 3_000, 'all who wait must have read what it was before');
  const timed = async (query: string) => {
    const [passedMs, startedAt] = [startStopwatch(), performance.now()];
    return { ...(await read(query)), ms: passedMs(), waitedMs: performance.now() - startedAt };
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
    const { ms, ...answer } = await timed('?wait=30');
    expect(answer).toMatchObject({ status: 404, body: { code: 'user_op_not_found' } });
    expect(ms).toBeLessThan(1_000);
    const elsewhere = await account.ask(`/onchain/user-op-receipt/5/${userOpHash}`);
    expect(elsewhere.status).toBe(404);
  });

  it('is answered on the next change to who waits, however many do', async () => {
    await happen('TxSubmitted');
    const waiting = Array.from({ length: 5 }, () => timed('?wait=20'));
    await allRead(waiting.length);
    await happen('TxDelayed');
    await happen('TxIncluded');
    for (const { body, ms } of await Promise.all(waiting)) {
      expect(body).toMatchObject({ status: 'included', receipt: { success: true } });
      expect(ms).toBeLessThan(5_000);
    }
  });

  it('is answered after that time where nothing happens, also later than requests are answered else', async () => {
    await happen('TxSubmitted');
    const { status, body, ms, waitedMs } = await timed('?wait=6');
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'submitted' } });
    expect(waitedMs).toBeGreaterThan(5_900);
    expect(ms).toBeLessThan(8_000);
  });

  it.each([
    ['TxFinalized', 'final'],
    ['TxDropped', 'dropped'],
  ] as const)('is answered at once where nothing can change any more: %s', async (type, status) => {
    await happen('TxSubmitted');
    if (type === 'TxFinalized') await happen('TxIncluded');
    await happen(type);
    const { body, ms } = await timed('?wait=30');
    expect(body).toMatchObject({ status });
    expect(ms).toBeLessThan(2_000);
  });

  it.each(['?wait=0', '?wait=31', '?wait=1.5', '?wait=-1', '?wait=x', '?wait='])('refuses %s', async (query) => {
    expect(await read(query)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  });

  it('does not keep a service from stopping that is waited for', async () => {
    await happen('TxSubmitted');
    const waiting = read('?wait=30').catch((error: unknown) => error);
    await allRead(1);
    const passedMs = startStopwatch();
    await account.service.close();
    await waiting;
    expect(passedMs()).toBeLessThan(4_000);
  });
});
