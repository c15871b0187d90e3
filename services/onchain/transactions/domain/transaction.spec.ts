import { describe, expect, it } from '@jest/globals';
import type { TransactionEvent } from '../../../../schemas/events/onchain/transaction-events.ts';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { expectNothingTheSecondTime, givenAt } from '../../../../shared/testing/given.ts';
import {
  delay,
  drop,
  finalise,
  idOfOperation,
  idOfReplacement,
  idOfRequest,
  include,
  newTransactionId,
  operationOf,
  putBack,
  reorganise,
  replace,
  submit,
  TAKEN_OUT,
  transactionFold,
  type Inclusion,
} from './transaction.ts';
import { storedOperation } from '../../operations/domain/user-operation.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const { TxSubmitted: submission, TxFinalized: subject } = eventExamples;
const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const inclusion: Inclusion = {
  success: true,
  transactionHash: hash('c'),
  blockNumber: 7,
  blockHash: hash('b'),
  logIndex: 3,
  actualGasCostWei: '180000000000000',
  actualGasUsed: '180000',
  deployed: true,
  reason: null,
};
const { success: _success, reason: _reason, ...block } = inclusion;
const submitted: TransactionEvent = { type: 'TxSubmitted', data: submission };
const included: TransactionEvent = { type: 'TxIncluded', data: { ...subject, ...block } };
const reorged: TransactionEvent = { type: 'TxReorged', data: { ...subject, blockHash: hash('b') } };
const replaced: TransactionEvent = {
  type: 'TxReplaced',
  data: { ...subject, replacedBy: hash('e'), blockHash: hash('b') },
};
const finalized: TransactionEvent = { type: 'TxFinalized', data: subject };
const dropped: TransactionEvent = { type: 'TxDropped', data: { ...subject, reason: 'expired' } };
const delayed: TransactionEvent = { type: 'TxDelayed', data: { ...subject, reason: 'AA21' } };
const after = givenAt(transactionFold, NOON);

describe('a transaction', () => {
  it('is submitted once, with an operation that is stored whole', () => {
    after().decides((state) => submit(state, submission), [submitted]);
    after(submitted).decides((state) => submit(state, { ...submission, userOpHash: hash('9') }), []);
    const { state } = after(submitted);
    expect(state && storedOperation(operationOf(state))).toEqual(submission.operation);
    expect(state?.submittedAt).toBe(NOON);
  });

  it('is included, or reverted with the bytes of the reason', () => {
    after(submitted).decides((state) => include(state, inclusion), [included]);
    after(submitted).decides(
      (state) => include(state, { ...inclusion, success: false, reason: '0x08c379a0' }),
      [{ type: 'TxReverted', data: { ...subject, ...block, reason: '0x08c379a0' } }],
    );
    expectNothingTheSecondTime(transactionFold, after(submitted).state, (state) => include(state, inclusion), NOON);
    const reverted: TransactionEvent = { type: 'TxReverted', data: { ...subject, ...block, reason: null } };
    const known = { block: { hash: hash('b'), number: 7 }, delayedBy: null, isFinal: false };
    expect(after(submitted, delayed, included).state).toMatchObject({ ...known, status: 'included' });
    expect(after(submitted, delayed, reverted).state).toMatchObject({ ...known, status: 'reverted', submission });
  });

  it('that another block has than the one that is known has left that one first', () => {
    const elsewhere = { ...inclusion, blockHash: hash('f') };
    after(submitted, included).decides(
      (state) => include(state, elsewhere),
      [reorged, { type: 'TxIncluded', data: { ...subject, ...block, blockHash: hash('f') } }],
    );
    after(submitted, replaced).decides((state) => include(state, inclusion), [reorged, included]);
  });

  it('is submitted again when the block that has it leaves the chain, and only then', () => {
    after(submitted, included).decides((state) => reorganise(state, hash('a')), []);
    after(submitted, included).decides((state) => reorganise(state, hash('b')), [reorged]);
    after(submitted, included, finalized).decides((state) => reorganise(state, hash('b')), []);
    after(submitted).decides((state) => reorganise(state, hash('b')), []);
    const { state } = after(submitted, included, reorged);
    expect(state).toMatchObject({ status: 'submitted', block: undefined, isFinal: false });
  });

  it('remembers that a block had it, which has left the chain', () => {
    expect(after(submitted, included).state?.wasInBlock).toBe(false);
    expect(after(submitted, included, reorged).state?.wasInBlock).toBe(true);
    expect(after(submitted, replaced, reorged, delayed).state?.wasInBlock).toBe(true);
  });

  it('is replaced by another operation of its nonce, unless it is final', () => {
    const by = { replacedBy: hash('e'), blockHash: hash('b') };
    after(submitted).decides((state) => replace(state, by), [replaced]);
    after(submitted, included).decides(
      (state) => replace(state, { ...by, blockHash: hash('f') }),
      [reorged, { type: 'TxReplaced', data: { ...subject, replacedBy: hash('e'), blockHash: hash('f') } }],
    );
    after(submitted, included, finalized).decides((state) => replace(state, { ...by, blockHash: hash('f') }), []);
    expectNothingTheSecondTime(transactionFold, after(submitted).state, (state) => replace(state, by), NOON);
  });

  it('is final once its block is, and never changes again', () => {
    after(submitted).decides(finalise, []);
    after(submitted, included).decides(finalise, [finalized]);
    after(submitted, replaced).decides(finalise, [finalized]);
    after(submitted, included, finalized).decides(finalise, []);
    expect(after(submitted, included, finalized).state).toMatchObject({ status: 'included', isFinal: true });
  });

  it('is dropped only while it is submitted', () => {
    after(submitted).decides((state) => drop(state, 'expired'), [dropped]);
    for (const history of [[submitted, included], [submitted, dropped], []]) {
      after(...history).decides((state) => drop(state, 'expired'), []);
    }
    expect(after(submitted, dropped).state).toMatchObject({ status: 'dropped', isFinal: true });
  });

  it('says why it waits, once for each reason, until it goes on', () => {
    after(submitted).decides((state) => delay(state, 'AA21'), [delayed]);
    after(submitted, delayed).decides((state) => delay(state, 'AA21'), []);
    after(submitted, delayed).decides(
      (state) => delay(state, null),
      [{ type: 'TxDelayed', data: { ...subject, reason: null } }],
    );
    after(submitted, included).decides((state) => delay(state, 'AA21'), []);
    expect(after(submitted, delayed, included).state?.delayedBy).toBeNull();
  });

  it('that was taken out of the mempool goes on when it is sent again', () => {
    const takenOut: TransactionEvent = { type: 'TxDelayed', data: { ...subject, reason: TAKEN_OUT } };
    const goesOn: TransactionEvent = { type: 'TxDelayed', data: { ...subject, reason: null } };
    after(submitted, takenOut).decides(putBack, [goesOn]);
    after(submitted, takenOut, goesOn).decides(putBack, []);
    after(submitted, delayed).decides(putBack, []);
  });

  it('does not exist before it is submitted', () => {
    const decisions = [
      finalise,
      putBack,
      (state: undefined) => include(state, inclusion),
      (state: undefined) => delay(state, 'AA21'),
      (state: undefined) => reorganise(state, hash('b')),
    ];
    for (const decide of decisions) expect(decide(undefined)).toEqual([]);
    expect(after(included).state).toBeUndefined();
  });
});

describe('the id of a transaction', () => {
  it('follows from what it is made of', () => {
    const { chainId, entryPoint } = submission;
    const ids = [
      idOfRequest('a'),
      idOfRequest('b'),
      idOfOperation(chainId, entryPoint, hash('d')),
      idOfOperation(chainId + 1, entryPoint, hash('d')),
      idOfOperation(chainId, entryPoint, hash('e')),
      idOfReplacement('tx_1', 'cancelled'),
      idOfReplacement('tx_1', 'signed anew'),
    ];
    for (const id of ids) expect(id).toMatch(/^tx_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(new Set(ids).size).toBe(ids.length);
    expect(idOfRequest('a')).toBe(ids[0]);
  });

  it('may be a new one', () => {
    expect(newTransactionId('1')).toBe('tx_1');
  });
});
