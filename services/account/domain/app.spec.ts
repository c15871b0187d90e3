import { describe, expect, it } from '@jest/globals';
import type { AppEvent } from '../../../schemas/events/app-events.ts';
import { expectNothingTheSecondTime, given } from '../../../shared/testing/given.ts';
import { apiKeyFrom, appFold, appIdOf, appStream, registerApp } from './app.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const known = {
  name: 'Shop',
  apiKey: 'ak_1',
  signer: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  scheme: 'v1' as const,
  origins: ['https://shop.example'],
  redirectUris: ['https://shop.example/back'],
};
const app = { id: 'app_1', ...known };
const registered: AppEvent = { type: 'AppRegistered', data: { appId: 'app_1', ...known } };

describe('an app', () => {
  it('is registered with all its data', () => {
    given(appFold, [])
      .when((state) => registerApp(state, app))
      .then([registered]);
    expect(given(appFold, [[registered, NOON]]).state).toEqual(app);
  });

  it('is registered once', () => {
    expectNothingTheSecondTime(appFold, appFold.initial, (state) => registerApp(state, app), NOON);
  });

  it('has an id and a stream name that follow from its API key and must never change', () => {
    expect(apiKeyFrom('0123')).toBe('ak_0123');
    expect(appIdOf('ak_0123')).toBe('app_m7zwhdwv6xym2xe56tq3ww1gxd');
    expect(appStream('app_1')).toBe('app-app_1');
  });
});
