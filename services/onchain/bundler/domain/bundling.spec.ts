import { describe, expect, it } from '@jest/globals';
import type { BundlerEvent, BundlingMode } from '../../../schemas/events/bundler-events.ts';
import { given } from '../../../shared/testing/given.ts';
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
  it('is automatic until it is set otherwise, and a mode that it has is not set again', () => {
    const set = (mode: BundlingMode) => (bundling: Bundling) => setMode(bundling, chainId, mode);
    after().when(set('auto')).then([]);
    after()
      .when(set('manual'))
      .then([modeSet('manual')]);
    after(modeSet('manual')).when(set('manual')).then([]);
    after(modeSet('manual'))
      .when(set('auto'))
      .then([modeSet('auto')]);
  });

  it('has the requests without an answer, oldest first, in whatever mode', () => {
    const { state } = after(requested('a'), modeSet('manual'), requested('b'), requested('c'), answered('b'));
    expect(state).toEqual({
      mode: 'manual',
      requests: [
        { requestId: 'a', requestedAt: NOON },
        { requestId: 'c', requestedAt: NOON + 3 },
      ],
    });
  });

  it('answers a request once, with the transaction if there is one', () => {
    const answer = (transactionHash: string | null) => (bundling: Bundling) =>
      answerRequest(bundling, chainId, { requestId: 'a', transactionHash });
    const open = after(requested('a'), requested('b'));
    open.when(answer('0xcc')).then([answered('a', '0xcc')]);
    open.when(answer(null)).then([answered('a')]);
    after(requested('a'), requested('b'), answered('a')).when(answer('0xcc')).then([]);
    after().when(answer(null)).then([]);
  });
});
