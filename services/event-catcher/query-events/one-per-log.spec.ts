import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ObservedRecord } from '../../../schemas/events/event-catcher/chain-events.ts';
import type { EventPage, RegisteredContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { eventAbi, TOKEN, TRANSFER, transferAbi, transferRecord } from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

const BLOCKS = Array.from({ length: 60 }, (_, at) => 10 + at);
/** Which of the watches have the log of a block: no pattern has the same length as another. */
const have = [
  (block: number) => block % 2 === 0,
  (block: number) => block % 3 !== 0,
  (block: number) => block % 5 < 3 && block < 60,
];
const isReverted = ({ BlockNumber }: ObservedRecord): boolean => BlockNumber % 7 === 0;

describe('one record for each log, where the layouts of anonymous events fit logs of others', () => {
  let catcher: CatcherRoutes;
  /** The oldest first. */
  let watches: string[];
  beforeAll(async () => {
    catcher = await startCatcherRoutes();
    const abis = ['First', 'Transfer', 'Last'].map((name) => ({
      ...transferAbi,
      ...{ name, anonymous: name !== 'Transfer' },
      inputs: name === 'Last' ? transferAbi.inputs.slice(0, 2) : transferAbi.inputs,
    }));
    watches = [];
    for (const abi of abis) {
      const signature = `event ${abi.name}(${abi.inputs.map(({ type, indexed }) => `${type} ${indexed ? 'indexed' : ''}`).join(',')})`;
      const answer = await catcher.register({ eventSignature: signature, eventAbi: eventAbi(abi) }, 'app_1', 'usr_1');
      watches.push(((await answer.json()) as RegisteredContract).id);
    }
    await catcher.documents.project();
    const records = watches.flatMap((WatchId, at) =>
      BLOCKS.filter((block) => have[at]?.(block)).map((BlockNumber) => transferRecord({ BlockNumber, WatchId })),
    );
    await catcher.documents.observe(records, isReverted);
    await catcher.documents.advance({ finalized: 30 });
  });
  afterAll(() => catcher.service.close());

  const ask = async (query: Record<string, string | number>, user = 'usr_2', accept = 'application/json') => {
    const members = Object.entries({ chainId: 2484, contractAddress: TOKEN, ...query });
    const text = new URLSearchParams(members.map(([name, value]) => [name, String(value)])).toString();
    return catcher.ask(`/api/v1/events?${text}`, { user, headers: { accept } });
  };
  const page = async (query: Record<string, string | number>, user?: string) =>
    (await (await ask(query, user)).json()) as EventPage;
  /** Block and watch of each log: the first of these watches that has it. */
  const expected = (order: readonly (string | undefined)[], reverted = false) =>
    BLOCKS.filter((block) => (block % 7 === 0) === reverted).flatMap((block) => {
      const first = order.find((id) => id !== undefined && have[watches.indexOf(id)]?.(block));
      return first === undefined ? [] : [[block, first]];
    });
  const shown = ({ items }: Pick<EventPage, 'items'>) =>
    items.map(({ BlockNumber, WatchId }) => [BlockNumber, WatchId]);

  it.each([
    [4, 'asc'],
    [4, 'desc'],
    [19, 'asc'],
    [100, 'desc'],
  ])('is paged without gap and repeat, by cursor and by skip, %i at a time, %s', async (take, order) => {
    const all = expected(watches);
    const inOrder = order === 'asc' ? all : all.toReversed();
    const byCursor: unknown[] = [];
    const bySkip: unknown[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const found = await page({ take, order, ...(cursor !== undefined && { cursor }) });
      byCursor.push(...shown(found));
      expect(found.total).toBe(all.length);
      cursor = found.next;
    }
    for (let skip = 0; skip < all.length; skip += take) bySkip.push(...shown(await page({ take, skip, order })));
    expect([byCursor, bySkip]).toEqual([inOrder, inOrder]);
  });

  it('is that of the watch which the caller claims, before that of an older one', async () => {
    const body = { eventSignature: TRANSFER };
    expect((await catcher.register(body, 'app_1', 'usr_3')).status).toBe(200);
    await catcher.documents.project();
    const [first, transfer, last] = watches;
    expect(shown(await page({ take: 100 }, 'usr_3'))).toEqual(expected([transfer, first, last]));
    expect(shown(await page({ take: 100 }, 'usr_2'))).toEqual(expected([first, transfer, last]));
  });

  it('is exported, and is one of those that were reverted, if they are asked for', async () => {
    const reverted = await page({ take: 100, status: 'reverted' });
    expect(shown(reverted)).toEqual(expected(watches, true));
    const lines = (await (await ask({}, 'usr_2', 'application/x-ndjson')).text()).trim().split('\n');
    expect(shown({ items: lines.map((line) => JSON.parse(line) as EventPage['items'][number]) })).toEqual(
      expected(watches),
    );
  });
});
