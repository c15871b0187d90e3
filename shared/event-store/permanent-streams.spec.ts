import { expect, it } from '@jest/globals';
import { isLasting, isPermanent } from './permanent-streams.ts';

it('a checkpoint names no event of a stream that keeps its newest ones only, or for a time', () => {
  const forgotten = ['chain-2484', 'chain-2484-verified', 'executor-1-0xa', 'request-a', 'signature-a', 'otp-a'];
  expect(forgotten.filter(isPermanent)).toEqual([]);
  const kept = ['chain-2484-0xa', 'user-usr_1', 'watch-wch_1', 'app-app_1', 'session-ses_1', 'identity-a'];
  expect(kept.filter(isPermanent)).toEqual(kept);
});

it('a stream that forgets has no leaves in the transparency log, nor has a counter or a helper of a chain', () => {
  const without = [
    ...['challenge-a', 'otp-a', 'state-a', 'request-a', 'signature-a', 'executor-1-0xa', 'nonces-1-0xa', 'quota-a'],
    ...['chain-1', 'chain-1-verified', 'chain-1-aside', 'chain-1-accepted'],
  ];
  expect(without.filter(isLasting)).toEqual([]);
  const lasting = [
    'chain-1-0xa',
    'user-usr_1',
    'passkey-a',
    'vault',
    'log',
    'bundler-1',
    'sponsorship-app_1-2026-01-01',
  ];
  expect(lasting.filter(isLasting)).toEqual(lasting);
});
