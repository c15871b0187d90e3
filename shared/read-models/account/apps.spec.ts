import { describe, expect, it } from '@jest/globals';
import { storedEvent } from '../../testing/event-builder.ts';
import { project } from '../../testing/project.ts';
import { appsModel } from './apps.ts';

const [KEY_1, KEY_2, KEY_3] = ['1', '2', '3'].map((digit) => `0x${digit.repeat(40)}`) as [string, string, string];
const shop = storedEvent(
  'AppRegistered',
  { appId: 'app_1', name: 'Shop', signer: KEY_1, origins: ['https://shop.example', 'https://www.shop.example'] },
  { position: 1 },
);

const NO_SERVER_KEY = { serverSigner: null, formerServerSigner: null };

describe('an app', () => {
  it('has its name, its origins and the address of its signing key', async () => {
    const other = storedEvent(
      'AppRegistered',
      { appId: 'app_2', name: 'Other', signer: KEY_2, origins: [] },
      { position: 2 },
    );
    expect(await project(appsModel, [shop, other])).toEqual({
      app: {
        app_1: {
          id: 'app_1',
          name: 'Shop',
          signer: KEY_1,
          formerSigner: null,
          ...NO_SERVER_KEY,
          origins: ['https://shop.example', 'https://www.shop.example'],
          revokedAt: null,
        },
        app_2: {
          id: 'app_2',
          name: 'Other',
          signer: KEY_2,
          formerSigner: null,
          ...NO_SERVER_KEY,
          origins: [],
          revokedAt: null,
        },
      },
    });
  });

  it('has the data of its last registration', async () => {
    const again = storedEvent(
      'AppRegistered',
      { appId: 'app_1', name: 'New shop', signer: KEY_2, origins: ['https://new.example'] },
      { position: 2 },
    );
    expect(await project(appsModel, [shop, again])).toEqual({
      app: {
        app_1: {
          id: 'app_1',
          name: 'New shop',
          signer: KEY_2,
          formerSigner: null,
          ...NO_SERVER_KEY,
          origins: ['https://new.example'],
          revokedAt: null,
        },
      },
    });
  });

  it('has the origins that it was allowed later, and the time when it was revoked', async () => {
    const allowed = storedEvent('AppOriginAllowed', { appId: 'app_1', origin: 'https://new.example' }, { position: 2 });
    const time = Date.parse('2026-01-02T03:00:00.000Z');
    const revoked = storedEvent('AppRevoked', { appId: 'app_1' }, { position: 3, time });
    const origins = ['https://shop.example', 'https://www.shop.example', 'https://new.example'];
    expect(await project(appsModel, [shop, allowed, revoked])).toEqual({
      app: {
        app_1: {
          id: 'app_1',
          name: 'Shop',
          signer: KEY_1,
          formerSigner: null,
          ...NO_SERVER_KEY,
          origins,
          revokedAt: '2026-01-02T03:00:00.000Z',
        },
      },
    });
  });

  it('has two signing keys once they were rotated, and never a third one', async () => {
    const rotated = [KEY_2, KEY_3].map((signer, at) =>
      storedEvent('AppKeyRotated', { appId: 'app_1', signer }, { position: at + 2 }),
    );
    const [once, twice] = [rotated.slice(0, 1), rotated];
    expect(await project(appsModel, [shop, ...once])).toMatchObject({
      app: { app_1: { signer: KEY_2, formerSigner: KEY_1 } },
    });
    expect(await project(appsModel, [shop, ...twice])).toMatchObject({
      app: { app_1: { signer: KEY_3, formerSigner: KEY_2 } },
    });
  });

  it('has two server keys, and not one that was revoked', async () => {
    const events = (
      [
        ['AppServerKeyCreated', KEY_2],
        ['AppServerKeyCreated', KEY_3],
        ['AppServerKeyRevoked', KEY_3],
        ['AppServerKeyRevoked', KEY_2],
      ] as const
    ).map(([type, signer], at) => storedEvent(type, { appId: 'app_1', signer }, { position: at + 2 }));
    const keys = async (count: number) => (await project(appsModel, [shop, ...events.slice(0, count)])).app?.['app_1'];
    expect(await keys(2)).toMatchObject({ signer: KEY_1, serverSigner: KEY_3, formerServerSigner: KEY_2 });
    expect(await keys(3)).toMatchObject({ serverSigner: KEY_2, formerServerSigner: null });
    expect(await keys(4)).toMatchObject(NO_SERVER_KEY);
  });
});
