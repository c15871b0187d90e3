import { expect, it } from '@jest/globals';
import { rateLimits } from '../../../schemas/http/rate-limits.ts';
import { streamLimits } from './stream-limits.ts';

const byDefault = {
  subscriptionsPerConnection: rateLimits.subscriptions.points,
  connectionsPerUser: rateLimits.connections.points,
  waitingSocketsPerAddress: 256,
  packetsPerSocket: { points: 300, seconds: 1 },
  stallGraceMs: 3_000,
  collectingMs: 3_000,
};

it('the limits of the stream are those of the table, unless the setting replaces one', () => {
  expect(streamLimits({ RATE_LIMITS: {} })).toEqual(byDefault);
  expect(streamLimits({ RATE_LIMITS: { subscriptions: { points: 3, seconds: 1 } } })).toEqual({
    ...byDefault,
    subscriptionsPerConnection: 3,
  });
  expect(streamLimits({ RATE_LIMITS: { address: { points: 5, seconds: 7 } } })).toEqual({
    ...byDefault,
    packetsPerSocket: { points: 5, seconds: 7 },
  });
});

it('nothing is limited where limits are off', () => {
  expect(streamLimits({ RATE_LIMITS: 'off' })).toEqual({
    ...byDefault,
    subscriptionsPerConnection: Infinity,
    connectionsPerUser: Infinity,
    waitingSocketsPerAddress: Infinity,
    packetsPerSocket: { points: Infinity, seconds: 1 },
  });
});
