import { describe, expect, it } from '@jest/globals';
import {
  answered,
  BLOCKS_LEFT_OUT,
  initialDelivery,
  maybeKnown,
  onNewBlock,
  receiptMissed,
  refused,
  repriced,
  sent,
  signed,
  tipRefused,
} from './delivery.ts';

const ACCEPTED = { isNonceUsed: false, isUnderpriced: false };

describe('the delivery of a pending bundle', () => {
  it('counts refusals of the tip until a node takes the bundle', () => {
    const refusedTwice = tipRefused(tipRefused(signed(initialDelivery)));
    expect(refusedTwice).toMatchObject({ tipRefusals: 2, isTaken: false });
    expect(answered(refusedTwice, ACCEPTED)).toMatchObject({ tipRefusals: 0, isTaken: false });
    const taken = answered(refusedTwice, { ...ACCEPTED, isTaken: true });
    expect(taken).toMatchObject({ tipRefusals: 0, isTaken: true });
    expect(answered(taken, ACCEPTED).isTaken).toBe(true);
    expect(signed(taken).isTaken).toBe(false);
  });

  it('counts the blocks that leave out the bundle, until its fees change', () => {
    const left = onNewBlock(onNewBlock(sent(signed(initialDelivery), 7)));
    expect(left).toMatchObject({ sentAt: 7, hasBlockSince: true, blocksLeftOut: 2 });
    expect(sent(left, 9)).toMatchObject({ sentAt: 9, hasBlockSince: false, blocksLeftOut: 2 });
    expect(repriced(left).blocksLeftOut).toBe(0);
  });

  it('is unknown to a node until an answer other than a refusal, and stays known after that', () => {
    const fresh = signed(initialDelivery);
    expect(fresh.mayBeKnown).toBe(false);
    expect(refused(fresh, 0).mayBeKnown).toBe(false);
    expect(maybeKnown(fresh).mayBeKnown).toBe(true);
    expect(answered(fresh, ACCEPTED).mayBeKnown).toBe(true);
    expect(refused(answered(fresh, ACCEPTED), 0).mayBeKnown).toBe(true);
  });

  it('counts the checks without a receipt, and nothing else changes', () => {
    const delivery = sent(signed(initialDelivery), 7);
    expect(receiptMissed(receiptMissed(delivery))).toEqual({ ...delivery, receiptsMissed: 2 });
  });

  it('raises the fees at once if a node calls the bundle underpriced', () => {
    expect(answered(initialDelivery, { ...ACCEPTED, isUnderpriced: true }).blocksLeftOut).toBe(BLOCKS_LEFT_OUT);
  });

  it('remembers that a node said the nonce is used, until the next bundle is signed', () => {
    const used = answered(initialDelivery, { ...ACCEPTED, isNonceUsed: true });
    expect(answered(used, ACCEPTED).isNonceUsed).toBe(true);
    expect(signed(receiptMissed(used))).toMatchObject({ isNonceUsed: false, receiptsMissed: 0 });
  });

  it('pauses the executor longer after each refusal in a row, at most 5 s', () => {
    const pauses: number[] = [];
    let delivery = signed(initialDelivery);
    for (let times = 0; times < 8; times += 1) {
      delivery = refused(delivery, 1_000);
      pauses.push(delivery.waitsUntil - 1_000);
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    expect(refused(answered(delivery, ACCEPTED), 0).waitsUntil).toBe(100);
  });
});
