import { expect, it, jest } from '@jest/globals';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { someMetadata } from '../../../shared/testing/event-builder.ts';
import { TestClock, testFoundation } from '../../../shared/testing/test-foundation.ts';
import { createApp } from './register-app/register-app.handler.ts';
import { Apps } from '../../../shared/auth/apps.ts';

it('an app is read again after a second, although the clock of the machine is set back', async () => {
  const clock = new TestClock();
  const { eventStore, ids } = await testFoundation({ clock });
  const transactor = new Transactor(eventStore, clock, ids);
  const app = { name: 'Shop', origins: ['https://shop.example'], redirectUris: [], scheme: 'v1' as const };
  const { apiKey } = await createApp(transactor, app, { metadata: someMetadata, allowLocalHttp: true });
  const apps = new Apps(transactor);
  const { mock: read } = jest.spyOn(eventStore, 'read');
  const isRead = async () => {
    const before = read.calls.length;
    expect(await apps.live(apiKey)).toMatchObject({ name: 'Shop' });
    return read.calls.length > before;
  };
  expect(await isRead()).toBe(true);
  clock.jump(-3_600_000);
  clock.time += 999;
  expect(await isRead()).toBe(false);
  clock.time += 1;
  expect(await isRead()).toBe(true);
});
