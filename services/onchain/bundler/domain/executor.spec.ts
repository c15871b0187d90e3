import { describe, expect, it } from '@jest/globals';
import type { ExecutorEvent } from '../../../../schemas/events/onchain/executor-events.ts';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { givenAt } from '../../../../shared/testing/given.ts';
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
const after = givenAt(executorFold, NOON);

describe('an executor', () => {
  it('signs bundles at consecutive nonces, for the process of the current epoch', () => {
    after(begun(1)).decides((state) => signBundle(state, 1, bundle), [signed]);
    expect(after(begun(1), signed).state).toMatchObject({ nextNonce: 5, bundles: [{ nonce: 4, mined: undefined }] });
    expect(() => signBundle(after(begun(1), signed).state, 1, bundle)).toThrow('the nonce 4 already has a bundle');
    for (const nonce of [5, 6]) {
      const next = { ...bundle, nonce };
      after(begun(1), signed).decides((state) => signBundle(state, 1, next), [{ type: 'BundleSigned', data: next }]);
    }
  });

  it('refuses decisions of a process once another has begun', () => {
    const { state } = after(begun(1), signed, begun(2));
    expect(replaceBundler(state, subject)).toEqual([begun(3)]);
    expect(() => signBundle(state, 1, { ...bundle, nonce: 5 })).toThrow(BundlerWasReplaced);
    expect(() => replaceBundle(state, 1, raised)).toThrow(BundlerWasReplaced);
    expect(() => replaceBundle(state, 3, raised)).toThrow('another process sends bundles now');
  });

  it('keeps every version of a bundle', () => {
    after(begun(1), signed).decides(
      (state) => replaceBundle(state, 1, raised),
      [{ type: 'BundleReplaced', data: raised }],
    );
    const { state } = after(signed, { type: 'BundleReplaced', data: raised });
    expect(state.bundles.map(({ versions }) => versions)).toEqual([[bundle, raised]]);
    expect(state.nextNonce).toBe(5);
  });

  it('withdraws only the newest bundle, and signs another at its nonce', () => {
    const withdrawn = { ...subject, transactionHash, reason: 'intrinsic gas too low' };
    const event: ExecutorEvent = { type: 'BundleWithdrawn', data: withdrawn };
    after(begun(1), signed).decides((state) => withdrawBundle(state, 1, withdrawn), [event]);
    expect(after(begun(1), signed, event).state).toMatchObject({ nextNonce: nonce, bundles: [] });
    after(begun(1), signed, event).decides((state) => signBundle(state, 1, bundle), [signed]);
    const later: ExecutorEvent = { type: 'BundleSigned', data: { ...bundle, nonce: nonce + 1 } };
    for (const events of [[signed, later], [signed, wasMined], []]) {
      after(begun(1), ...events).decides((state) => withdrawBundle(state, 1, withdrawn), []);
    }
    expect(() => withdrawBundle(after(begun(2), signed).state, 1, withdrawn)).toThrow(BundlerWasReplaced);
  });

  it('knows the block of a bundle, until a reorganisation orphans that block', () => {
    after(signed).decides((state) => mineBundle(state, mined), [wasMined]);
    after(signed, wasMined).decides((state) => mineBundle(state, mined), []);
    const elsewhere = { ...mined, blockHash: `0x${'f'.repeat(64)}` };
    after(signed, wasMined).decides(
      (state) => mineBundle(state, elsewhere),
      [hasLeft, { type: 'BundleMined', data: elsewhere }],
    );
    after(signed, wasMined).decides(
      (state) => reorganiseBundle(state, { ...subject, blockHash: mined.blockHash }),
      [hasLeft],
    );
    after(signed, wasMined).decides(
      (state) => reorganiseBundle(state, { ...subject, blockHash: elsewhere.blockHash }),
      [],
    );
    expect(after(signed, wasMined, hasLeft).state.bundles).toMatchObject([{ mined: undefined }]);
    after().decides((state) => mineBundle(state, mined), []);
  });

  it('forgets a bundle whose block is final, but not its nonce', () => {
    after(signed).decides((state) => finaliseBundle(state, subject), []);
    const final: ExecutorEvent = { type: 'BundleFinalized', data: { ...subject, transactionHash } };
    after(signed, wasMined).decides((state) => finaliseBundle(state, subject), [final]);
    expect(after(signed, wasMined, final).state).toMatchObject({ bundles: [], nextNonce: 5 });
  });

  it('loses a bundle whose nonce somebody else used, and goes on at the next unused nonce', () => {
    const lost = { ...subject, nextNonce: 7 };
    after(signed).decides((state) => loseBundle(state, 0, lost), [{ type: 'BundleLost', data: lost }]);
    after(signed, wasMined).decides((state) => loseBundle(state, 0, lost), []);
    after().decides((state) => loseBundle(state, 0, lost), []);
    expect(() => loseBundle(after(signed, begun(2)).state, 1, lost)).toThrow(BundlerWasReplaced);
    expect(after(signed, { type: 'BundleLost', data: lost }).state).toMatchObject({ bundles: [], nextNonce: 7 });
    const behind = { ...subject, nextNonce: 1 };
    expect(after(signed, { type: 'BundleLost', data: behind }).state).toMatchObject({ bundles: [], nextNonce: 5 });
  });

  it('keeps bundles apart by their nonces', () => {
    const next = { ...bundle, nonce: 5, transactionHash: `0x${'5'.repeat(64)}` };
    const minedNext = { ...mined, nonce: 5, transactionHash: next.transactionHash };
    const both: ExecutorEvent[] = [signed, { type: 'BundleSigned', data: next }];
    const events: ExecutorEvent[] = [...both, { type: 'BundleMined', data: minedNext }];
    expect(after(...events).state.bundles).toMatchObject([
      { nonce: 4, versions: [bundle], mined: undefined },
      { nonce: 5, versions: [next], mined: { transactionHash: next.transactionHash } },
    ]);
    after(...events).decides((state) => mineBundle(state, minedNext), []);
    after(...events).decides(
      (state) => reorganiseBundle(state, minedNext),
      [
        {
          type: 'BundleReorged',
          data: { ...subject, nonce: 5, transactionHash: next.transactionHash, blockHash: mined.blockHash },
        },
      ],
    );
    after(...events).decides(
      (state) => finaliseBundle(state, { ...subject, nonce: 5 }),
      [{ type: 'BundleFinalized', data: { ...subject, nonce: 5, transactionHash: next.transactionHash } }],
    );
    after(...events).decides((state) => finaliseBundle(state, subject), []);
    after(...events).decides((state) => loseBundle(state, 0, { ...subject, nonce: 5, nextNonce: 7 }), []);
  });

  it('ignores bundles that it does not know', () => {
    const replaced: ExecutorEvent = { type: 'BundleReplaced', data: raised };
    expect(after(replaced, wasMined, hasLeft).state).toEqual(after().state);
    after().decides((state) => reorganiseBundle(state, { ...subject, blockHash: mined.blockHash }), []);
    after(signed).decides((state) => reorganiseBundle(state, { ...subject, blockHash: mined.blockHash }), []);
    after().decides((state) => finaliseBundle(state, subject), []);
  });

  it('keeps its bundles in nonce order', () => {
    const next = { ...signed, data: { ...bundle, nonce: 5 } };
    const { state } = after(signed, next, wasMined);
    expect(state.bundles.map((known) => known.nonce)).toEqual([4, 5]);
  });
});
