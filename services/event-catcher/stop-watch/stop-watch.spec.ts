import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RegisteredContract, WatchedContracts } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { WatchStatus } from '../../../schemas/http/event-catcher/watched-contract.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { codeOf, problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { TOKEN } from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

describe('a watch that somebody claims', () => {
  let catcher: CatcherRoutes;
  let watch: RegisteredContract;
  let path: string;
  beforeEach(async () => {
    catcher = await startCatcherRoutes();
    watch = await catcher.registered();
    path = `/api/v1/contracts/${watch.id}`;
  });
  afterEach(() => catcher.service.close());

  const remove = (app: string | null = 'app_1') => catcher.ask(path, { method: 'DELETE', app });
  const change = (what: 'pause' | 'resume', app: string | null = 'app_1') =>
    catcher.ask(`${path}/${what}`, { method: 'POST', app, headers: { 'content-type': 'application/json' } });
  const stateOf = async (answer: Response | Promise<Response>) =>
    ((await (await answer).json()) as RegisteredContract).state;
  const typesOf = async () => (await catcher.foundation.eventStore.read(`watch-${watch.id}`)).map(({ type }) => type);
  const found = async (query = '') => {
    await catcher.documents.project();
    return (await (await catcher.ask(`/api/v1/contracts${query}`)).json()) as WatchedContracts;
  };
  const status = () => catcher.ask(`/api/v1/status/2484/${TOKEN}/Transfer`, { app: null });

  it('is paused and resumed by its only holder, each once', async () => {
    await catcher.documents.advance({ watchesUpTo: Number.MAX_SAFE_INTEGER, backfills: [] });
    for (let times = 0; times < 2; times += 1) {
      const answer = await change('pause');
      expect([answer.status, answer.headers.get('x-position')]).toEqual([200, expect.any(String)]);
      expect(await answer.json()).toEqual({ ...watch, state: 'paused' });
    }
    expect((await found()).items).toMatchObject([{ id: watch.id, state: 'paused' }]);
    expect(await (await status()).json()).toMatchObject({
      state: 'paused',
      lastError: null,
    } satisfies Partial<WatchStatus>);
    expect(await stateOf(change('resume'))).toBe('backfilling');
    expect(await stateOf(change('resume'))).toBe('backfilling');
    await catcher.documents.project();
    expect(await stateOf(catcher.ask(path))).toBe('live');
    expect(await typesOf()).toEqual(['ContractRegistered', 'WatchPaused', 'WatchResumed']);
  });

  it('is paused even while its follower cannot go on', async () => {
    await change('pause');
    await catcher.documents.project();
    catcher.progress.error = 'no provider';
    expect(await stateOf(catcher.ask(path))).toBe('paused');
    expect(await (await status()).json()).toMatchObject({ state: 'paused', lastError: null });
  });

  it('has failed, as its status says, in the answer to whoever registers it again or resumes it', async () => {
    catcher.progress.error = 'no provider';
    expect(await stateOf(catcher.register())).toBe('failed');
    await change('pause');
    expect(await stateOf(change('resume'))).toBe('failed');
    await catcher.documents.project();
    expect(await stateOf(status())).toBe('failed');
  });

  it('says why when the operator paused it, or its backfill met a bound', async () => {
    const { eventStore } = catcher.foundation;
    const data = { watchId: watch.id, chainId: 2484, contractAddress: TOKEN, reason: 'blocks' };
    await eventStore.append(`watch-${watch.id}`, 0, [anEvent({ type: 'WatchPaused', data })]);
    await catcher.documents.project();
    expect(await (await status()).json()).toMatchObject({
      state: 'paused',
      lastError: expect.stringContaining('as many blocks as one registration may have'),
    });
    const refusal = await problemOfAnswer(await change('resume'));
    expect(refusal).toMatchObject({ status: 403, code: 'quota_exceeded', rule: 'backfillBlocks' });
  });

  it('is read again when another app registers it while it is paused', async () => {
    await change('pause');
    expect(await stateOf(catcher.register({}, 'app_2'))).toBe('backfilling');
    expect(await typesOf()).toEqual(['ContractRegistered', 'WatchPaused', 'ContractRegistered', 'WatchResumed']);
  });

  it('is there until the last claim is dropped, and again, under its id, when it is registered again', async () => {
    await catcher.register({}, 'app_2');
    const answer = await remove();
    expect([answer.status, await answer.text()]).toEqual([204, '']);
    expect(answer.headers.get('x-position')).not.toBeNull();
    expect((await found()).total).toBe(1);
    expect((await remove('app_2')).status).toBe(204);
    expect(await found()).toMatchObject({ items: [], total: 0 });
    expect(await found(`?contractAddress=${TOKEN}`)).toMatchObject({ items: [], total: 0 });
    for (const gone of [catcher.ask(path), status(), remove(), change('pause'), change('resume')])
      expect(await codeOf(gone)).toBe('watch_not_found');
    const again = await catcher.register({ startBlock: 20 });
    expect([again.status, await again.json()]).toEqual([200, { ...watch, startBlock: 20 }]);
    expect(await found()).toMatchObject({ items: [{ id: watch.id, startBlock: 20 }], total: 1 });
  });

  it('is changed by nobody who is only signed in to the same app', async () => {
    const asOther = (method: string, to = path) => catcher.ask(to, { method, user: 'usr_other' });
    for (const what of ['pause', 'resume']) expect(await codeOf(asOther('POST', `${path}/${what}`))).toBe('forbidden');
    expect(await codeOf(asOther('DELETE'))).toBe('watch_not_found');
    expect(await typesOf()).toEqual(['ContractRegistered']);
    expect((await catcher.register({}, 'app_1', 'usr_other')).status).toBe(200);
    for (const what of ['pause', 'resume'] as const) expect(await codeOf(change(what))).toBe('forbidden');
    expect((await asOther('DELETE')).status).toBe(204);
    expect((await found()).total).toBe(1);
    expect((await change('pause')).status).toBe(200);
  });

  it('loses each claim once, however many requests drop it at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => remove()));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array<number>(9).fill(404)]);
    expect(await typesOf()).toEqual(['ContractRegistered', 'WatchRemoved']);
  });
});
