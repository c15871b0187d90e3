import { expect, it } from '@jest/globals';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { someMetadata } from '../../../shared/testing/event-builder.ts';
import { TestClock, testFoundation } from '../../../shared/testing/test-foundation.ts';
import { createApp } from '../register-app/register-app.handler.ts';
import { Apps } from './apps.ts';

it('an app is read again after a second, although the clock of the machine is set back', async () => {
  const clock = new TestClock();
  const { eventStore, ids } = await testFoundation({ clock });
  const transactor = new Transactor(eventStore, clock, ids);
  const app = { name: 'Shop', origins: ['https://shop.example'], redirectUris: [], scheme: 'v1' as const };
  const { apiKey } = await createApp(transactor, app, { metadata: someMetadata, allowLocalHttp: true });
  const apps = new Apps(transactor);
  let read = 0;
  const whole = eventStore.read.bind(eventStore);
  eventStore.read = (...args) => {
    read += 1;
    return whole(...args);
  };
  const isRead = async () => {
    const before = read;
    expect(await apps.live(apiKey)).toMatchObject({ name: 'Shop' });
    return read > before;
  };
  expect(await isRead()).toBe(true);
  clock.jump(-3_600_000);
  clock.time += 999;
  expect(await isRead()).toBe(false);
  clock.time += 1;
  expect(await isRead()).toBe(true);
});
