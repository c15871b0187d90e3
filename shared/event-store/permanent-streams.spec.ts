import { expect, it } from '@jest/globals';
import { isPermanent } from './permanent-streams.ts';

it('a checkpoint names no event of a stream that keeps its newest ones only, or for a time', () => {
  const forgotten = ['chain-2484', 'chain-2484-verified', 'executor-1-0xa', 'request-a', 'signature-a', 'otp-a'];
  expect(forgotten.filter(isPermanent)).toEqual([]);
  const kept = ['chain-2484-0xa', 'user-usr_1', 'watch-wch_1', 'app-app_1', 'session-ses_1', 'identity-a'];
  expect(kept.filter(isPermanent)).toEqual(kept);
});
