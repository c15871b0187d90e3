import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { operationReceipt } from '../../../../schemas/http/onchain/operation-receipt.ts';
import { bundleReceiptOf } from '../../testing/bundle-receipts.ts';
import { operationReceiptOf, type IncludedOperation } from './operation-receipt.ts';

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const { blockHash } = eventExamples.TxIncluded;
const { entryPoint, sender } = eventExamples.TxSubmitted;
const PAYMASTER = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';

/** Two operations of a bundle, whose block has five logs before. */
const FIRST_INDEX = 5;
const bundle = bundleReceiptOf(
  [{ of: 'd' }, 'before execution', { of: '1' }, { of: '1' }, { endOf: hash('a') }, { of: '2' }, { endOf: hash('b') }],
  FIRST_INDEX,
);
const included = (changes: Partial<IncludedOperation>): IncludedOperation => ({
  ...{ userOpHash: hash('a'), entryPoint, sender, nonce: '36893488147419103232', paymaster: PAYMASTER, blockHash },
  ...{ actualGasCostWei: '180000000000000', actualGasUsed: '180000', success: true, revertReason: null },
  logIndex: FIRST_INDEX + 4,
  ...changes,
});
const second = { userOpHash: hash('b'), logIndex: FIRST_INDEX + 6 };
const logsOf = (changes: Partial<IncludedOperation>) =>
  operationReceiptOf(included(changes), bundle)?.logs.map(({ logIndex }) => Number(logIndex) - FIRST_INDEX);

describe('the receipt of an operation', () => {
  it('has its amounts in hex, and the whole transaction', () => {
    const receipt = operationReceiptOf(included({}), bundle);
    expect(receipt).toEqual({
      userOpHash: hash('a'),
      entryPoint,
      sender,
      nonce: '0x20000000000000000',
      paymaster: PAYMASTER,
      actualGasCost: '0xa3b5840f4000',
      actualGasUsed: '0x2bf20',
      success: true,
      logs: [bundle.logs[2], bundle.logs[3]],
      receipt: bundle,
    });
    expect(operationReceipt.parse(receipt)).toEqual(receipt);
  });

  it('has the logs of its own execution: not of the validation, nor of operations before and behind it', () => {
    expect(logsOf({})).toEqual([2, 3]);
    expect(logsOf(second)).toEqual([5]);
  });

  it('has what the EntryPoint itself logs while it is executed', () => {
    const logs = bundle.logs.map((log, at) => (at === 3 ? { ...log, address: entryPoint } : log));
    expect(operationReceiptOf(included({}), { ...bundle, logs })?.logs).toEqual([logs[2], logs[3]]);
  });

  it('has a reason only where it failed', () => {
    expect(operationReceiptOf(included({}), bundle)).not.toHaveProperty('reason');
    const failed = { success: false, revertReason: '0x08c379a0' };
    expect(operationReceiptOf(included(failed), bundle)).toMatchObject({ success: false, reason: '0x08c379a0' });
    expect(operationReceiptOf(included({ success: false }), bundle)).toMatchObject({ reason: '0x' });
  });

  it('has no paymaster where the account paid', () => {
    expect(operationReceiptOf(included({ paymaster: null }), bundle)).not.toHaveProperty('paymaster');
  });

  it.each([
    ['another block has the transaction', { blockHash: hash('9') }],
    ['that log is another event', { logIndex: FIRST_INDEX + 3 }],
    ['that log is of another operation', { logIndex: FIRST_INDEX + 6 }],
    ['there is no such log', { logIndex: 99 }],
  ])('is not told where %s', (_, changes) => {
    expect(operationReceiptOf(included(changes), bundle)).toBeUndefined();
  });

  it('is not told where that log is another event of this operation', () => {
    const logs = bundle.logs.map((log, at) => (at === 4 ? { ...log, topics: [hash('7'), hash('a')] } : log));
    expect(operationReceiptOf(included({}), { ...bundle, logs })).toBeUndefined();
  });

  it('is not misled by a contract that writes logs like those of the EntryPoint', () => {
    const forged = bundleReceiptOf([{ of: '1' }, { endOf: hash('9') }, { of: '2' }, { endOf: hash('a') }]);
    const logs = forged.logs.map((log, at) => (at === 1 ? { ...log, address: sender } : log));
    expect(operationReceiptOf(included({ logIndex: 3 }), { ...forged, logs })?.logs).toHaveLength(3);
    const own = forged.logs.map((log, at) => (at === 3 ? { ...log, address: sender } : log));
    expect(operationReceiptOf(included({ logIndex: 3 }), { ...forged, logs: own })).toBeUndefined();
  });
});
