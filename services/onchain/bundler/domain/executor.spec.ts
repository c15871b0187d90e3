import { describe, expect, it } from '@jest/globals';
import type { ExecutorEvent } from '../../../schemas/events/executor-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { given } from '../../../shared/testing/given.ts';
import {
  BundlerWasReplaced,
  executorFold,
  finaliseBundle,
  loseBundle,
  mineBundle,
  reorganiseBundle,
  replaceBundle,
  replaceBundler,
  signBundle,
  withdrawBundle,
} from './executor.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const { BundleSigned: bundle, BundleMined: mined } = eventExamples;
const { chainId, executor, nonce, transactionHash } = bundle;
const subject = { chainId, executor, nonce };
const signed: ExecutorEvent = { type: 'BundleSigned', data: bundle };
const raised = { ...bundle, transactionHash: `0x${'e'.repeat(64)}`, maxFeePerGas: '2250000000' };
const begun = (epoch: number): ExecutorEvent => ({ type: 'BundlerReplaced', data: { chainId, executor, epoch } });
const wasMined: ExecutorEvent = { type: 'BundleMined', data: mined };
const hasLeft: ExecutorEvent = {
  type: 'BundleReorged',
  data: { ...subject, transactionHash, blockHash: mined.blockHash },
};
const after = (...events: ExecutorEvent[]) =>
  given(
    executorFold,
    events.map((event) => [event, NOON]),
  );

describe('an executor', () => {
  it('signs bundles at consecutive nonces, for the process that works', () => {
    after(begun(1))
      .when((state) => signBundle(state, 1, bundle))
      .then([signed]);
    expect(after(begun(1), signed).state).toMatchObject({ nextNonce: 5, bundles: [{ nonce: 4, mined: undefined }] });
    expect(() => signBundle(after(begun(1), signed).state, 1, bundle)).toThrow('the nonce 4 has a bundle');
    for (const nonce of [5, 6]) {
      const next = { ...bundle, nonce };
      after(begun(1), signed)
        .when((state) => signBundle(state, 1, next))
        .then([{ type: 'BundleSigned', data: next }]);
    }
  });

  it('refuses what a process decides after another one has begun', () => {
    const { state } = after(begun(1), signed, begun(2));
    expect(replaceBundler(state, subject)).toEqual([begun(3)]);
    expect(() => signBundle(state, 1, { ...bundle, nonce: 5 })).toThrow(BundlerWasReplaced);
    expect(() => replaceBundle(state, 1, raised)).toThrow(BundlerWasReplaced);
    expect(() => replaceBundle(state, 3, raised)).toThrow('another process sends bundles now');
  });

  it('has several versions of a bundle, each with higher fees', () => {
    after(begun(1), signed)
      .when((state) => replaceBundle(state, 1, raised))
      .then([{ type: 'BundleReplaced', data: raised }]);
    const { state } = after(signed, { type: 'BundleReplaced', data: raised });
    expect(state.bundles.map(({ versions }) => versions)).toEqual([[bundle, raised]]);
    expect(state.nextNonce).toBe(5);
  });

  it('signs another bundle at the nonce of one that was withdrawn, which can only be the newest', () => {
    const withdrawn = { ...subject, transactionHash, reason: 'intrinsic gas too low' };
    const event: ExecutorEvent = { type: 'BundleWithdrawn', data: withdrawn };
    after(begun(1), signed)
      .when((state) => withdrawBundle(state, 1, withdrawn))
      .then([event]);
    expect(after(begun(1), signed, event).state).toMatchObject({ nextNonce: nonce, bundles: [] });
    after(begun(1), signed, event)
      .when((state) => signBundle(state, 1, bundle))
      .then([signed]);
    const later: ExecutorEvent = { type: 'BundleSigned', data: { ...bundle, nonce: nonce + 1 } };
    for (const events of [[signed, later], [signed, wasMined], []]) {
      after(begun(1), ...events)
        .when((state) => withdrawBundle(state, 1, withdrawn))
        .then([]);
    }
    expect(() => withdrawBundle(after(begun(2), signed).state, 1, withdrawn)).toThrow(BundlerWasReplaced);
  });

  it('knows which block has a bundle, until that block leaves the chain', () => {
    after(signed)
      .when((state) => mineBundle(state, mined))
      .then([wasMined]);
    after(signed, wasMined)
      .when((state) => mineBundle(state, mined))
      .then([]);
    const elsewhere = { ...mined, blockHash: `0x${'f'.repeat(64)}` };
    after(signed, wasMined)
      .when((state) => mineBundle(state, elsewhere))
      .then([hasLeft, { type: 'BundleMined', data: elsewhere }]);
    after(signed, wasMined)
      .when((state) => reorganiseBundle(state, { ...subject, blockHash: mined.blockHash }))
      .then([hasLeft]);
    after(signed, wasMined)
      .when((state) => reorganiseBundle(state, { ...subject, blockHash: elsewhere.blockHash }))
      .then([]);
    expect(after(signed, wasMined, hasLeft).state.bundles).toMatchObject([{ mined: undefined }]);
    after()
      .when((state) => mineBundle(state, mined))
      .then([]);
  });

  it('forgets a bundle whose block is final, and not its nonce', () => {
    after(signed)
      .when((state) => finaliseBundle(state, subject))
      .then([]);
    const final: ExecutorEvent = { type: 'BundleFinalized', data: { ...subject, transactionHash } };
    after(signed, wasMined)
      .when((state) => finaliseBundle(state, subject))
      .then([final]);
    expect(after(signed, wasMined, final).state).toMatchObject({ bundles: [], nextNonce: 5 });
  });

  it('loses a bundle whose nonce somebody else has used, and uses none that is used', () => {
    const lost = { ...subject, nextNonce: 7 };
    after(signed)
      .when((state) => loseBundle(state, 0, lost))
      .then([{ type: 'BundleLost', data: lost }]);
    after(signed, wasMined)
      .when((state) => loseBundle(state, 0, lost))
      .then([]);
    after()
      .when((state) => loseBundle(state, 0, lost))
      .then([]);
    expect(() => loseBundle(after(signed, begun(2)).state, 1, lost)).toThrow(BundlerWasReplaced);
    expect(after(signed, { type: 'BundleLost', data: lost }).state).toMatchObject({ bundles: [], nextNonce: 7 });
    const behind = { ...subject, nextNonce: 1 };
    expect(after(signed, { type: 'BundleLost', data: behind }).state).toMatchObject({ bundles: [], nextNonce: 5 });
  });

  it('has several bundles, of which each nonce means its own', () => {
    const next = { ...bundle, nonce: 5, transactionHash: `0x${'5'.repeat(64)}` };
    const minedNext = { ...mined, nonce: 5, transactionHash: next.transactionHash };
    const both: ExecutorEvent[] = [signed, { type: 'BundleSigned', data: next }];
    const events: ExecutorEvent[] = [...both, { type: 'BundleMined', data: minedNext }];
    expect(after(...events).state.bundles).toMatchObject([
      { nonce: 4, versions: [bundle], mined: undefined },
      { nonce: 5, versions: [next], mined: { transactionHash: next.transactionHash } },
    ]);
    after(...events)
      .when((state) => mineBundle(state, minedNext))
      .then([]);
    after(...events)
      .when((state) => reorganiseBundle(state, minedNext))
      .then([
        {
          type: 'BundleReorged',
          data: { ...subject, nonce: 5, transactionHash: next.transactionHash, blockHash: mined.blockHash },
        },
      ]);
    after(...events)
      .when((state) => finaliseBundle(state, { ...subject, nonce: 5 }))
      .then([{ type: 'BundleFinalized', data: { ...subject, nonce: 5, transactionHash: next.transactionHash } }]);
    after(...events)
      .when((state) => finaliseBundle(state, subject))
      .then([]);
    after(...events)
      .when((state) => loseBundle(state, 0, { ...subject, nonce: 5, nextNonce: 7 }))
      .then([]);
  });

  it('does nothing about bundles that it does not have', () => {
    const replaced: ExecutorEvent = { type: 'BundleReplaced', data: raised };
    expect(after(replaced, wasMined, hasLeft).state).toEqual(after().state);
    after()
      .when((state) => reorganiseBundle(state, { ...subject, blockHash: mined.blockHash }))
      .then([]);
    after(signed)
      .when((state) => reorganiseBundle(state, { ...subject, blockHash: mined.blockHash }))
      .then([]);
    after()
      .when((state) => finaliseBundle(state, subject))
      .then([]);
  });

  it('keeps its bundles in the order of their nonces', () => {
    const next = { ...signed, data: { ...bundle, nonce: 5 } };
    const { state } = after(signed, next, wasMined);
    expect(state.bundles.map((one) => one.nonce)).toEqual([4, 5]);
  });
});
