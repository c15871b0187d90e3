import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { operationReceipt } from '../../../../schemas/http/onchain/operation-receipt.ts';
import { LatestState } from '../../../../shared/chain/state/latest-state.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { operationReceiptOf } from '../domain/operation-receipt.ts';
import { execute, OperationsOnChain } from '../../testing/operations-on-chain.ethers.ts';

const folder = temporaryFolder();
/** Longer than jest waits: no answer is late. */
const ANSWERS_WITHIN_MS = 3_600_000;
/** Writes a log without topics: PUSH1 0, PUSH1 0, LOG0. */
const LOGS = '0x60006000a0';
/** Reverts with four bytes: PUSH4, PUSH1 0, MSTORE, PUSH1 4, PUSH1 28, REVERT. */
const REVERTS = '0x63c0ffee006000526004601cfd';

let local: OperationsOnChain;
beforeAll(async () => {
  local = await OperationsOnChain.start(folder);
});
afterAll(() => local.stop());

it('operations of one bundle have receipts of their own, on anvil', async () => {
  const chain = new LatestState(local.client, ANSWERS_WITHIN_MS);
  const [logging, reverting] = [await local.contract(LOGS), await local.contract(REVERTS)];
  const callees = [logging, reverting, logging];
  const operations = callees.map((to) => {
    const owner = randomWallet();
    const callData = execute(to);
    return local.sign(owner, local.operation(owner, { factory: local.factoryOf(owner), sponsored: true, callData }));
  });
  const { inclusions } = await local.include(operations);
  const bundle = await chain.receipt(inclusions[0]?.transactionHash ?? '');
  if (!bundle) throw new Error('the bundle has no receipt');
  const receipts = inclusions.map(({ nonce, actualGasCost, actualGasUsed, revertReason, ...inclusion }) => {
    const amounts = { actualGasCostWei: String(actualGasCost), actualGasUsed: String(actualGasUsed) };
    const operation = { ...inclusion, ...amounts, nonce: String(nonce), revertReason: revertReason ?? null };
    return operationReceipt.parse(operationReceiptOf({ ...operation, entryPoint: local.chain.entryPoint }, bundle));
  });
  expect(receipts.map(({ success, reason, sender }) => [success, reason, sender])).toEqual([
    [true, undefined, operations[0]?.sender],
    [false, '0xc0ffee00', operations[1]?.sender],
    [true, undefined, operations[2]?.sender],
  ]);
  expect(receipts[0]?.logs.map(({ address }) => address)).toEqual([logging]);
  expect(receipts[1]?.logs.map(({ address }) => address)).toEqual([local.chain.entryPoint]);
  expect(receipts[2]?.logs.map(({ address }) => address)).toEqual([logging]);
  expect(await chain.headBlock()).toBe(Number(bundle.blockNumber));
});
