import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { RegisteredContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { codeOf, problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { TOKEN } from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

const FINALIZED = 30;

describe('a replay of a watch', () => {
  let catcher: CatcherRoutes;
  let watch: RegisteredContract;
  beforeEach(async () => {
    catcher = await startCatcherRoutes();
    watch = await catcher.registered();
  });
  afterEach(() => catcher.service.close());

  const advance = (type: 'ChainAdvanced' | 'FollowerReplaced' = 'ChainAdvanced', finalized = FINALIZED) => {
    const data = type === 'ChainAdvanced' ? { ...eventExamples.ChainAdvanced, finalized } : { chainId: 2484 };
    return catcher.foundation.eventStore.append('chain-2484', -1, [anEvent({ type, data })]);
  };
  const replay = (blocks: object = {}, app: string | null = 'app_1', id = watch.id, headers = {}, user?: string) =>
    catcher.post(`/api/v1/contracts/${id}/replay`, blocks, { app, ...(user !== undefined && { user }), headers });
  const requested = async () =>
    (await catcher.foundation.eventStore.read(`watch-${watch.id}`))
      .filter(({ type }) => type === 'WatchReplayRequested')
      .map(({ data }) => data);

  it('is of all final blocks, or of those that are named', async () => {
    await advance();
    const all = await replay();
    expect([all.status, await all.json()]).toEqual([202, { id: watch.id, fromBlock: 10, toBlock: FINALIZED }]);
    expect(all.headers.get('x-position')).not.toBeNull();
    const some = await replay({ fromBlock: 12, toBlock: 12 });
    expect([some.status, await some.json()]).toEqual([202, { id: watch.id, fromBlock: 12, toBlock: 12 }]);
    const about = { watchId: watch.id, chainId: 2484, contractAddress: TOKEN };
    expect(await requested()).toEqual([
      { ...about, fromBlock: 10, toBlock: FINALIZED },
      { ...about, fromBlock: 12, toBlock: 12 },
    ]);
  });

  it('is requested once by a request that is repeated', async () => {
    await advance();
    const key = { 'idempotency-key': 'again' };
    for (let times = 0; times < 2; times += 1) expect((await replay({}, 'app_1', watch.id, key)).status).toBe(202);
    expect(await requested()).toHaveLength(1);
  });

  it.each([
    [{ fromBlock: 9 }, 'fromBlock', 'before block 10'],
    [{ toBlock: FINALIZED + 1 }, 'toBlock', `block ${String(FINALIZED)} is the newest`],
    [{ fromBlock: 21, toBlock: 20 }, 'fromBlock', 'after block 20, the last one'],
    [{ fromBlock: FINALIZED + 1 }, 'fromBlock', `after block ${String(FINALIZED)}`],
    [{ toBlock: 9 }, 'toBlock', 'before block 10'],
    [[], 'body', ''],
  ])('is refused for %j', async (blocks, path, message) => {
    await advance();
    const problem = await problemOfAnswer(await replay(blocks));
    expect(problem).toMatchObject({
      code: 'validation_failed',
      errors: [{ path, message: expect.stringContaining(message) }],
    });
    expect(await requested()).toEqual([]);
  });

  it('is for the only claimant of the watch', async () => {
    await advance();
    expect(await codeOf(replay({}, 'app_2'))).toBe('forbidden');
    await catcher.register({}, 'app_2');
    for (const app of ['app_1', 'app_2']) expect(await codeOf(replay({}, app))).toBe('forbidden');
    expect(await requested()).toEqual([]);
  });

  it('is for the user whose claim is the only one, in that app', async () => {
    await advance();
    const statusFor = async (user: string, app = 'app_1') => (await replay({}, app, watch.id, {}, user)).status;
    expect(await statusFor('usr_2')).toBe(403);
    await catcher.register({}, 'app_1', 'usr_2');
    await catcher.ask(`/api/v1/contracts/${watch.id}`, { method: 'DELETE' });
    expect([await statusFor('usr_2'), await statusFor('usr_2', 'app_2'), await statusFor('usr_1')]).toEqual([
      202, 403, 403,
    ]);
  });

  it('needs no body', async () => {
    await advance();
    const answer = await catcher.ask(`/api/v1/contracts/${watch.id}/replay`, { method: 'POST' });
    expect([answer.status, await answer.json()]).toEqual([202, { id: watch.id, fromBlock: 10, toBlock: FINALIZED }]);
  });

  it('is not found for a watch that nobody holds any more', async () => {
    await advance();
    await catcher.ask(`/api/v1/contracts/${watch.id}`, { method: 'DELETE' });
    expect(await codeOf(replay())).toBe('watch_not_found');
  });

  it('waits until the chain has been read', async () => {
    expect(await codeOf(replay())).toBe('not_caught_up');
    await advance('FollowerReplaced');
    expect(await codeOf(replay())).toBe('not_caught_up');
  });

  it('waits until the first block of the registration is final', async () => {
    await advance('ChainAdvanced', 9);
    for (const blocks of [{}, { fromBlock: 10, toBlock: 12 }])
      expect(await problemOfAnswer(await replay(blocks))).toMatchObject({
        code: 'not_caught_up',
        detail: 'block 10, where the registration begins, is not final yet: block 9 is the newest that is',
      });
  });
});
