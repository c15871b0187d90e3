import { afterEach, describe, expect, it } from '@jest/globals';
import { appStream } from '../../../schemas/events/account/app-events.ts';
import type { RegisteredContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { codeOf, problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { registration } from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

const SERVER_KEY = '0x2222222222222222222222222222222222222222';
const contractOf = (index: number) => ({ contractAddress: `0x${String(index).padStart(40, '0')}` });

describe('the quota of registrations', () => {
  let catcher: CatcherRoutes;
  afterEach(() => catcher.service.close());

  const start = async (quotas: object) => {
    catcher = await startCatcherRoutes({ QUOTAS: JSON.stringify(quotas) });
  };
  const register = (index: number, app = 'app_1', user = 'usr_1') => catcher.register(contractOf(index), app, user);
  const remove = async (answer: Response, app = 'app_1') => {
    const { id } = (await answer.json()) as RegisteredContract;
    const path = `/api/v1/contracts/${id}`;
    expect((await catcher.ask(path, { method: 'DELETE', app, user: 'usr_1' })).status).toBe(204);
  };

  it.each([
    ['userWatches', 'app_2', 'usr_1', ['app_1', 'usr_2']],
    ['appWatches', 'app_1', 'usr_2', ['app_2', 'usr_1']],
  ] as const)('%s is not exceeded, and is no other’s', async (rule, app, user, [otherApp, otherUser]) => {
    await start({ [rule]: 2 });
    const first = await register(1);
    await register(2);
    const before = await catcher.foundation.eventStore.head();
    const refusal = await problemOfAnswer(await register(3, app, user));
    expect(refusal).toMatchObject({ status: 403, code: 'quota_exceeded', rule, detail: expect.stringContaining('2 ') });
    const stored = await catcher.foundation.eventStore.readAll(before, { types: ['ContractRegistered'] }, 10);
    expect(stored.events).toEqual([]);
    expect((await register(1)).status).toBe(200);
    expect((await register(3, otherApp, otherUser)).status).toBe(201);
    await remove(first);
    expect((await register(4, app, user)).status).toBe(201);
    expect(await codeOf(register(5, app, user))).toBe('quota_exceeded');
  });

  it.each(['userWatches', 'appWatches'])('%s is not exceeded by registrations at the same time', async (rule) => {
    await start({ [rule]: 3 });
    const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => register(index)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, ...Array<number>(9).fill(403)]);
  });

  it('refuses a registration that is tried out, by the same rule', async () => {
    await start({ userWatches: 1 });
    expect((await register(1)).status).toBe(201);
    const tried = await catcher.post('/api/v1/contracts?dryRun=true', registration(contractOf(2)), { user: 'usr_1' });
    expect(await problemOfAnswer(tried)).toMatchObject({ code: 'quota_exceeded', rule: 'userWatches' });
  });

  it('is counted for each user who claims the same watch, once, and is returned to each', async () => {
    await start({ userWatches: 1 });
    const first = await register(1);
    expect((await register(1)).status).toBe(200);
    expect((await register(1, 'app_1', 'usr_2')).status).toBe(200);
    expect((await problemOfAnswer(await register(2, 'app_1', 'usr_2'))).rule).toBe('userWatches');
    await remove(first);
    expect((await register(3)).status).toBe(201);
    expect((await problemOfAnswer(await register(2, 'app_1', 'usr_2'))).rule).toBe('userWatches');
  });

  it('of an app itself is counted apart from that of its users, who can not use it up', async () => {
    await start({ userWatches: 2, appWatches: 1 });
    const created = anEvent({ type: 'AppServerKeyCreated', data: { appId: 'app_1', signer: SERVER_KEY } });
    await catcher.foundation.eventStore.append(appStream('app_1'), -1, [created]);
    expect((await register(1)).status).toBe(201);
    expect(await problemOfAnswer(await register(2, 'app_1', 'usr_2'))).toMatchObject({
      rule: 'appWatches',
      detail: expect.stringContaining('all users of an app together'),
    });
    const byApp = (index: number) =>
      catcher.post('/api/v1/contracts', registration(contractOf(index)), {
        ...{ user: 'app_1', claims: { sid: undefined, amr: ['app'], server_key: SERVER_KEY } },
      });
    expect((await byApp(2)).status).toBe(201);
    expect((await problemOfAnswer(await byApp(3))).rule).toBe('appWatches');
  });

  it('is returned when a process died before the registration was stored', async () => {
    await start({ appWatches: 1 });
    const claim = { watchId: `wch_${'0'.repeat(26)}`, appId: 'app_1', userId: 'usr_9' };
    const time = catcher.clock.now();
    await catcher.foundation.eventStore.append('quota-app-app_1', -1, [
      anEvent({ type: 'QuotaTaken', data: claim, time }),
    ]);
    expect(await codeOf(register(1))).toBe('quota_exceeded');
    catcher.clock.time += 61_000;
    expect((await register(1)).status).toBe(201);
    expect(await codeOf(register(2))).toBe('quota_exceeded');
  });
});
