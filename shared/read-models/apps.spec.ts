import { describe, expect, it } from '@jest/globals';
import { storedEvent } from '../testing/event-builder.ts';
import { project } from '../testing/project.ts';
import { appsModel } from './apps.ts';

const shop = storedEvent(
  'AppRegistered',
  { appId: 'app_1', name: 'Shop', origins: ['https://shop.example', 'https://www.shop.example'] },
  { position: 1 },
);

describe('an app', () => {
  it('has its name and its origins, and no keys', async () => {
    const other = storedEvent('AppRegistered', { appId: 'app_2', name: 'Other', origins: [] }, { position: 2 });
    expect(await project(appsModel, [shop, other])).toEqual({
      app: {
        app_1: {
          id: 'app_1',
          name: 'Shop',
          origins: ['https://shop.example', 'https://www.shop.example'],
          revokedAt: null,
        },
        app_2: { id: 'app_2', name: 'Other', origins: [], revokedAt: null },
      },
    });
  });

  it('has the data of its last registration', async () => {
    const again = storedEvent(
      'AppRegistered',
      { appId: 'app_1', name: 'New shop', origins: ['https://new.example'] },
      { position: 2 },
    );
    expect(await project(appsModel, [shop, again])).toEqual({
      app: { app_1: { id: 'app_1', name: 'New shop', origins: ['https://new.example'], revokedAt: null } },
    });
  });

  it('has the origins that it was allowed later, and the time when it was revoked', async () => {
    const allowed = storedEvent('AppOriginAllowed', { appId: 'app_1', origin: 'https://new.example' }, { position: 2 });
    const time = Date.parse('2026-01-02T03:00:00.000Z');
    const revoked = storedEvent('AppRevoked', { appId: 'app_1' }, { position: 3, time });
    const origins = ['https://shop.example', 'https://www.shop.example', 'https://new.example'];
    expect(await project(appsModel, [shop, allowed, revoked])).toEqual({
      app: { app_1: { id: 'app_1', name: 'Shop', origins, revokedAt: '2026-01-02T03:00:00.000Z' } },
    });
  });
});
