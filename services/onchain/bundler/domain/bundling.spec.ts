import { describe, expect, it } from '@jest/globals';
import type { BundlerEvent, BundlingMode } from '../../../../schemas/events/onchain/bundler-events.ts';
import { given } from '../../../../shared/testing/given.ts';
import { answerRequest, bundlingFold, setMode, type Bundling } from './bundling.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const chainId = 2484;
const modeSet = (mode: BundlingMode): BundlerEvent => ({ type: 'BundlingModeSet', data: { chainId, mode } });
const requested = (requestId: string): BundlerEvent => ({ type: 'BundleRequested', data: { chainId, requestId } });
const answered = (requestId: string, transactionHash: string | null = null): BundlerEvent => ({
  type: 'BundleRequestAnswered',
  data: { chainId, requestId, transactionHash },
});
const after = (...events: BundlerEvent[]) =>
  given(
    bundlingFold,
    events.map((event, index) => [event, NOON + index]),
  );

describe('bundling', () => {
  it('is automatic until the mode is set, and does not set the same mode again', () => {
    const set = (mode: BundlingMode) => (bundling: Bundling) => setMode(bundling, chainId, mode);
    after().decides(set('auto'), []);
    after().decides(set('manual'), [modeSet('manual')]);
    after(modeSet('manual')).decides(set('manual'), []);
    after(modeSet('manual')).decides(set('auto'), [modeSet('auto')]);
  });

  it('keeps the requests without an answer, oldest first, in any mode', () => {
    const { state } = after(requested('a'), modeSet('manual'), requested('b'), requested('c'), answered('b'));
    expect(state).toEqual({
      mode: 'manual',
      requests: [
        { requestId: 'a', requestedAt: NOON },
        { requestId: 'c', requestedAt: NOON + 3 },
      ],
    });
  });

  it('answers a request once, with the hash of the transaction if there is one', () => {
    const answer = (transactionHash: string | null) => (bundling: Bundling) =>
      answerRequest(bundling, chainId, { requestId: 'a', transactionHash });
    const open = after(requested('a'), requested('b'));
    open.decides(answer('0xcc'), [answered('a', '0xcc')]);
    open.decides(answer(null), [answered('a')]);
    after(requested('a'), requested('b'), answered('a')).decides(answer('0xcc'), []);
    after().decides(answer(null), []);
  });
});
