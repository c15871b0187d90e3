import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RegisteredContract, WatchedContracts } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { TOKEN } from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

describe('a watch in the API', () => {
  let catcher: CatcherRoutes;
  const watches: RegisteredContract[] = [];
  beforeAll(async () => {
    catcher = await startCatcherRoutes();
    for (const contractAddress of [TOKEN, ...'12345'.split('').map((digit) => `0x${digit.repeat(40)}`)]) {
      catcher.chain.deployedAt.set(contractAddress, 0);
      watches.push(await catcher.registered({ contractAddress }));
    }
    await catcher.documents.project();
    await catcher.documents.advance({ watchesUpTo: Number.MAX_SAFE_INTEGER, backfills: [] });
    watches.sort((left, right) => (left.id < right.id ? -1 : 1));
  });
  afterAll(() => catcher.service.close());

  const list = async (query = ''): Promise<WatchedContracts> => {
    const answer = await catcher.ask(`/api/v1/contracts${query}`);
    expect(answer.status).toBe(200);
    return (await answer.json()) as WatchedContracts;
  };

  it('is listed in pages, and differs from the answer to its registration only in its state', async () => {
    const all = watches.map((watch) => ({ ...watch, state: 'live' }));
    expect(await list()).toEqual({ items: all, take: 10, skip: 0, total: 6 });
    expect(await list('?take=2&skip=3')).toEqual({ items: all.slice(3, 5), take: 2, skip: 3, total: 6 });
  });

  it('is listed by chain and by contract', async () => {
    expect((await list(`?contractAddress=${TOKEN.toLowerCase()}`)).items).toMatchObject([{ contractAddress: TOKEN }]);
    expect((await list('?chainId=1')).items).toEqual([]);
    expect((await list('?chainId=2484')).total).toBe(6);
  });

  it('is found by id', async () => {
    const [watch] = watches;
    const answer = await catcher.ask(`/api/v1/contracts/${watch?.id ?? ''}`);
    expect(await answer.json()).toEqual({ ...watch, state: 'live' });
  });

  it('has failed while its follower cannot go on', async () => {
    catcher.progress.error = 'no provider';
    const { items } = await list('?take=1');
    const found = (await (await catcher.ask(`/api/v1/contracts/${items[0]?.id ?? ''}`)).json()) as RegisteredContract;
    catcher.progress.error = null;
    expect([items[0]?.state, found.state]).toEqual(['failed', 'failed']);
    expect((await list('?take=1')).items[0]?.state).toBe('live');
  });
});
