import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { StoredEvent } from '../../event-store/event-store.ts';
import { storedEvent } from '../../testing/event-builder.ts';
import { project } from '../../testing/project.ts';
import { listedOf, transactionsModel, type TransactionDocument } from './transactions.ts';

const transactionId = 'tx_1';
const time = (minute: number): number => Date.parse('2026-01-02T00:00:00.000Z') + minute * 60_000;
const at = (position: number) => ({ position, time: time(position) });
const hash = (digit: string): string => `0x${digit.repeat(64)}`;

const word = (digits: string): string => digits.padStart(64, '0');
const callData = `0xb61d27f6${word('5fbdb2315678afecb367f032d93f642f64180aa3')}${word('10')}${word('60')}${word('1')}ff${word('').slice(2)}`;
const { operation } = eventExamples.TxSubmitted;
const submitted = storedEvent(
  'TxSubmitted',
  {
    ...{ transactionId, userId: 'usr_1', appId: 'app_1', chainId: 10, nonce: '7', userOpHash: hash('1') },
    ...{ sponsor: true, operation: { ...operation, callData, signature: `0x${'5e'.repeat(65)}` } },
  },
  at(1),
);
const block = { transactionHash: hash('c'), blockNumber: 7, blockHash: hash('b') };
const included = storedEvent('TxIncluded', { transactionId, ...block, logIndex: 3 }, at(2));
const reverted = storedEvent('TxReverted', { transactionId, ...block, logIndex: 3, reason: '0x08c379a0' }, at(2));
const reorged = storedEvent('TxReorged', { transactionId, blockHash: hash('b') }, at(3));
const replaced = storedEvent('TxReplaced', { transactionId, replacedBy: hash('2'), blockHash: hash('e') }, at(4));
const finalized = storedEvent('TxFinalized', { transactionId }, at(9));

const documentOf = async (...events: StoredEvent[]): Promise<TransactionDocument> =>
  (await project(transactionsModel, events))['transaction']?.[transactionId] as TransactionDocument;

const entry = (status: string, minute: number, more: object = {}): object => ({
  status,
  time: new Date(time(minute)).toISOString(),
  ...more,
});

describe('a transaction', () => {
  it('has everything that is answered of it, and never its signature', async () => {
    const document = await documentOf(submitted);
    expect(document).toEqual({
      id: 'tx_1',
      userId: 'usr_1',
      appId: 'app_1',
      chainId: 10,
      entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
      sender: '0x1234567890AbcdEF1234567890aBcdef12345678',
      nonce: '7',
      userOpHash: hash('1'),
      sponsor: true,
      to: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
      value: '16',
      data: '0xff',
      paymaster: operation.paymaster,
      status: 'submitted',
      createdAt: '2026-01-02T00:01:00.000Z',
      replacedBy: null,
      history: [{ status: 'submitted', time: '2026-01-02T00:01:00.000Z' }],
      inclusion: null,
      isOpen: true,
      submittedPosition: 1,
    });
    expect(JSON.stringify(document)).not.toContain('5e5e');
  });

  it('is included with its block and its cost, and final later', async () => {
    expect(await documentOf(submitted, included, finalized)).toMatchObject({
      status: 'final',
      isOpen: false,
      inclusion: {
        ...{ ...block, logIndex: 3, actualGasCostWei: '180000000000000', actualGasUsed: '180000' },
        ...{ success: true, revertReason: null },
      },
      history: [entry('submitted', 1), entry('included', 2, block), entry('final', 9)],
    });
  });

  it('stays reverted when it is final, and has what the call reverted with', async () => {
    const document = await documentOf(submitted, reverted, finalized);
    expect(document).toMatchObject({ status: 'reverted', isOpen: false });
    expect(document.inclusion).toMatchObject({ success: false, revertReason: '0x08c379a0' });
    expect(document.history).toEqual([entry('submitted', 1), entry('reverted', 2, { ...block, reason: '0x08c379a0' })]);
  });

  it('is reverted without a reason where the chain gives none', async () => {
    const silent = storedEvent('TxReverted', { transactionId, ...block, logIndex: 3, reason: null }, at(2));
    const document = await documentOf(submitted, silent);
    expect(document.inclusion).toMatchObject({ success: false, revertReason: null });
    expect(document.history.at(-1)).toEqual(entry('reverted', 2, block));
  });

  it('goes back to submitted when its block leaves the chain, also after it was final', async () => {
    const back = { status: 'submitted', inclusion: null, replacedBy: null, isOpen: true };
    const document = await documentOf(submitted, included, reorged);
    expect(document).toMatchObject(back);
    expect(document.history.at(-1)).toEqual(entry('submitted', 3, { blockHash: hash('b') }));
    const final = storedEvent('TxFinalized', { transactionId }, { position: 2.5, time: time(2) });
    expect(await documentOf(submitted, included, final, reorged)).toMatchObject(back);
  });

  it('names the operation that took its nonce, until that one leaves the chain', async () => {
    const document = await documentOf(submitted, replaced);
    expect(document).toMatchObject({ status: 'replaced', replacedBy: hash('2'), isOpen: true });
    expect(document.history.at(-1)).toEqual(entry('replaced', 4, { blockHash: hash('e') }));
    expect(await documentOf(submitted, replaced, finalized)).toMatchObject({ status: 'replaced', isOpen: false });
    const left = storedEvent('TxReorged', { transactionId, blockHash: hash('e') }, at(5));
    expect(await documentOf(submitted, replaced, left)).toMatchObject({ status: 'submitted', replacedBy: null });
  });

  it('says why it waits, and when it goes on', async () => {
    const delayed = storedEvent('TxDelayed', { transactionId, reason: 'AA21 too little' }, at(2));
    const resumed = storedEvent('TxDelayed', { transactionId, reason: null }, at(3));
    expect(await documentOf(submitted, delayed, resumed)).toMatchObject({
      status: 'submitted',
      isOpen: true,
      history: [entry('submitted', 1), entry('submitted', 2, { reason: 'AA21 too little' }), entry('submitted', 3)],
    });
    expect((await documentOf(submitted, delayed, resumed)).history[2]).not.toHaveProperty('reason');
  });

  it('is dropped for ever with the reason', async () => {
    const dropped = storedEvent('TxDropped', { transactionId, reason: 'expired' }, at(2));
    expect(await documentOf(submitted, dropped)).toMatchObject({
      ...{ status: 'dropped', isOpen: false },
      history: [entry('submitted', 1), entry('dropped', 2, { reason: 'expired' })],
    });
  });

  it('has no call of its own where the operation is not one call', async () => {
    const empty = storedEvent('TxSubmitted', { transactionId, operation: { ...operation, callData: '0x' } }, at(1));
    expect(await documentOf(empty)).toMatchObject({ to: null, value: null, data: null });
  });

  it('does not begin with anything but its submission', async () => {
    expect(await documentOf(included, finalized)).toBeUndefined();
  });

  it('is listed without what only finds it', async () => {
    expect(Object.keys(listedOf(await documentOf(submitted, included))).toSorted()).toEqual(
      [
        ...['appId', 'chainId', 'createdAt', 'data', 'entryPoint', 'history', 'id', 'nonce', 'replacedBy', 'sender'],
        ...['sponsor', 'status', 'to', 'userOpHash', 'value'],
      ].toSorted(),
    );
  });
});
