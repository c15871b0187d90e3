import { expect, it } from '@jest/globals';
import { rateLimits } from '../../../schemas/http/rate-limits.ts';
import { streamLimits } from './stream-limits.ts';

it('the limits of the stream are those of the table, unless the setting replaces one', () => {
  expect(streamLimits({ RATE_LIMITS: {} })).toEqual({
    subscriptionsPerConnection: rateLimits.subscriptions.points,
    connectionsPerUser: rateLimits.connections.points,
  });
  expect(streamLimits({ RATE_LIMITS: { subscriptions: { points: 3, seconds: 1 } } })).toEqual({
    subscriptionsPerConnection: 3,
    connectionsPerUser: rateLimits.connections.points,
  });
});

it('nothing is limited where limits are off', () => {
  expect(streamLimits({ RATE_LIMITS: 'off' })).toEqual({
    subscriptionsPerConnection: Infinity,
    connectionsPerUser: Infinity,
  });
});
