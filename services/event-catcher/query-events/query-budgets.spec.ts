import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { untilAborted } from '../../../shared/primitives/waiting/until-aborted.ts';
import type { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import type { Hit } from '../../../shared/read-store/read-store.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { TOKEN, transferRecord } from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

const PATH = `/api/v1/events?chainId=2484&contractAddress=${TOKEN}`;

describe('a query that takes long', () => {
  let catcher: CatcherRoutes;
  let budget: QueryBudget | undefined;
  beforeAll(async () => {
    catcher = await startCatcherRoutes();
    await catcher.register();
    await catcher.documents.project();
    await catcher.documents.observe([transferRecord()], () => false);
  });
  afterAll(() => catcher.service.close());
  beforeEach(() => {
    budget = undefined;
  });

  const searching = (search: (by: QueryBudget) => Promise<Hit[]>) => {
    catcher.foundation.readStore.search = (_collection, _search, by) => {
      budget = by;
      return search(by);
    };
  };

  it('has 4 s, and is refused after that with a hint to ask for less', async () => {
    const askedAt = performance.now();
    let [leftMs, elapsedMs] = [0, 0];
    searching((by) => {
      [leftMs, elapsedMs] = [by.leftMs, performance.now() - askedAt];
      return Promise.reject(by.tooLong());
    });
    const problem = await problemOfAnswer(await catcher.ask(PATH));
    expect(problem).toMatchObject({ status: 503, code: 'dependency_unavailable', retryAfter: 1 });
    expect(problem.detail).toContain('ask for fewer blocks');
    expect(leftMs).toBeLessThanOrEqual(4_000);
    expect(leftMs + elapsedMs).toBeGreaterThanOrEqual(4_000);
  });

  it('ends when its caller goes away', async () => {
    searching((by) => untilAborted(new Promise<never>(() => undefined), by.signal));
    const leaving = new AbortController();
    const answer = catcher.ask(PATH, { signal: leaving.signal });
    await eventually(() => budget !== undefined, 5_000, 'the search must have begun');
    expect(budget?.signal.aborted).toBe(false);
    leaving.abort();
    await expect(answer).rejects.toThrow('aborted');
    await eventually(() => budget?.signal.aborted === true, 5_000, 'the search must end');
  });

  it('counts for the user who asks', async () => {
    searching(() => Promise.resolve([]));
    expect((await catcher.ask(PATH)).status).toBe(200);
    expect(budget?.caller).toBe('user:usr_1');
  });
});
