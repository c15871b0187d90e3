import { beforeEach, describe, expect, it } from '@jest/globals';
import { computeAddress } from 'ethers';
import { appsModel } from '../../../../shared/read-models/account/apps.ts';
import { projectInto } from '../../../../shared/testing/project.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { someMetadata } from '../../../../shared/testing/event-builder.ts';
import { testFoundation, type TestFoundation } from '../../../../shared/testing/test-foundation.ts';
import { listApps } from '../list-apps/list-apps.handler.ts';
import { createApp, type AppToRegister } from './register-app.handler.ts';

describe('registering an app', () => {
  let foundation: TestFoundation;
  let transactor: Transactor;
  beforeEach(async () => {
    foundation = await testFoundation();
    transactor = new Transactor(foundation.eventStore, foundation.clock, foundation.ids);
  });
  const register = (changes: Partial<AppToRegister> = {}) =>
    createApp(
      transactor,
      { name: 'Shop', origins: ['https://shop.example'], redirectUris: [], scheme: 'v1', ...changes },
      { metadata: someMetadata, allowLocalHttp: true },
    );

  it('returns a signing key of which only the address is stored', async () => {
    const app = await register();
    expect(app).toMatchObject({ name: 'Shop', origins: ['https://shop.example'], redirectUris: [], scheme: 'v1' });
    expect(app.apiKey).toMatch(/^ak_[0-9a-z]{32}$/);
    expect(app.id).toMatch(/^app_[0-9a-z]{26}$/);
    const [stored] = await foundation.eventStore.read(`app-${app.id}`);
    expect(stored?.data).toMatchObject({ apiKey: app.apiKey, signer: computeAddress(app.signingKey) });
    expect(stored?.dataText).not.toContain(app.signingKey.slice(2));
  });

  it('normalises origins as browsers send them', async () => {
    const origins = ['HTTPS://Shop.Example:443/', 'http://localhost:5173', 'http://127.0.0.1', 'https://shop.example'];
    expect((await register({ origins })).origins).toEqual([
      ...['https://shop.example', 'http://localhost:5173', 'http://127.0.0.1'],
    ]);
  });

  it('refuses origins and redirect URIs that are unsafe or not valid', async () => {
    const wrong = [
      '',
      '*',
      'https://*.example',
      'http://shop.example',
      'https://a.example/path',
      'https://a.example?q=1',
    ];
    for (const origin of [...wrong, 'https://u:p@a.example', 'null', 'javascript:alert(1)', 'file:///etc']) {
      await expect(register({ origins: [origin] })).rejects.toThrow('validation_failed');
    }
    for (const uri of ['http://shop.example/back', 'https://shop.example/back#x', '/back']) {
      await expect(register({ redirectUris: [uri] })).rejects.toThrow('validation_failed');
    }
    await expect(register({ origins: [] })).rejects.toThrow('validation_failed');
    await expect(register({ name: ' ' })).rejects.toThrow('validation_failed');
    expect(await foundation.eventStore.head()).toBe(0);
  });

  it('adds the app to the list, in order of registration, without the signing key', async () => {
    const [first, second] = [await register(), await register({ name: 'Other', scheme: 'v2' })];
    const apps = await listApps(foundation);
    expect(apps.map(({ id, name, scheme }) => ({ id, name, scheme }))).toEqual([
      { id: first.id, name: 'Shop', scheme: 'v1' },
      { id: second.id, name: 'Other', scheme: 'v2' },
    ]);
    expect(JSON.stringify(apps)).not.toContain(first.signingKey.slice(2));
  });

  it('lists apps without the events that the read model has', async () => {
    const { eventStore, readStore } = foundation;
    const first = await register();
    await projectInto(readStore, [appsModel], (await eventStore.readAll(0, undefined, 1_000)).events);
    const second = await register({ name: 'Other' });
    const read: string[] = [];
    const readAll = eventStore.readAll.bind(eventStore);
    eventStore.readAll = async (...asked) => {
      const batch = await readAll(...asked);
      read.push(...batch.events.map(({ stream }) => stream));
      return batch;
    };
    expect((await listApps(foundation)).map(({ id }) => id)).toEqual([first.id, second.id]);
    expect(read).toEqual([`app-${second.id}`]);
  });
});
