import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { EventPage } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { contractKey } from '../../../schemas/topics.ts';
import { Cursors } from '../../../shared/keys/stream-cursors.ts';
import { chainEventsModel } from '../../../shared/read-models/event-catcher/chain-events.ts';
import { HEAD, idOfWatch, TOKEN, transferAbi, transferRecord } from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

const FINALIZED = 12;
const read = { finalized: FINALIZED, watchesUpTo: 100 };
const block = (BlockNumber: number) => transferRecord({ BlockNumber });
const isNotReverted = () => false;

/** What a subscription that continues an answer needs to know. */
describe('an answer of a query', () => {
  let catcher: CatcherRoutes;
  beforeEach(async () => {
    catcher = await startCatcherRoutes();
    await catcher.register();
    await catcher.documents.project();
    await catcher.documents.observe([10, 11, 12, 13, 14].map(block), isNotReverted);
    await catcher.documents.advance(read);
  });
  afterEach(() => catcher.service.close());

  const page = async (query = ''): Promise<EventPage> => {
    const answer = await catcher.ask(`/api/v1/events?chainId=2484&contractAddress=${TOKEN}${query}`);
    expect(answer.status).toBe(200);
    return (await answer.json()) as EventPage;
  };
  const resumePointOf = ({ cursor }: EventPage) =>
    new Cursors(catcher.foundation.edgeKey).read([contractKey(2484, TOKEN)], cursor ?? '');
  const projected = () => catcher.foundation.readStore.position(chainEventsModel.name);
  const blocks = ({ items }: EventPage) => items.map(({ BlockNumber }) => BlockNumber);

  it('has the place in the stream up to which records are in it, and the head of the chain', async () => {
    for (const query of ['', '&order=desc', '&status=observed', '&status=reverted', '&eventSignature=Unknown']) {
      const answer = await page(query);
      const newestAtMs = catcher.clock.now();
      expect([resumePointOf(answer), answer.head]).toEqual([{ position: await projected(), newestAtMs }, HEAD]);
    }
  });

  it('says the same on all pages, which leave out what is stored meanwhile', async () => {
    const first = await page('&take=2');
    await catcher.documents.observe([block(15), transferRecord({ BlockNumber: 12, LogIndex: 9 })], isNotReverted);
    await catcher.documents.advance({ ...read, head: HEAD + 1 });
    const second = await page(`&take=1000&cursor=${String(first.next)}`);
    expect([...blocks(first), ...blocks(second)]).toEqual([10, 11, 12, 13, 14]);
    expect([second.cursor, second.head]).toEqual([first.cursor, first.head]);
  });

  it('of final records continues with the block after them', async () => {
    const answer = await page('&status=finalized&take=10');
    expect(blocks(answer)).toEqual([10, 11, 12]);
    expect([resumePointOf(answer), answer.head]).toMatchObject([{ historyFrom: FINALIZED + 1 }, FINALIZED]);
  });

  it('of final records has the same blocks on all pages, whatever becomes final meanwhile', async () => {
    const first = await page('&status=finalized&take=2');
    await catcher.documents.advance({ ...read, finalized: 14 });
    const second = await page(`&status=finalized&take=1000&cursor=${String(first.next)}`);
    expect([...blocks(first), ...blocks(second)]).toEqual([10, 11, 12]);
    expect(await page('&status=finalized')).toMatchObject({ head: 14 });
  });

  it('of records that are not final lacks none that becomes final between two pages', async () => {
    const first = await page('&status=observed&take=1');
    await catcher.documents.advance({ ...read, finalized: 14 });
    const second = await page(`&status=observed&take=1000&cursor=${String(first.next)}`);
    expect([...blocks(first), ...blocks(second)]).toEqual([13, 14]);
  });

  it.each([
    { what: 'is being read', range: { joins: true }, head: 10 },
    { what: 'has a gap', range: { joins: false }, head: 10 },
  ])('is true up to the block before the first one that $what', async ({ range, head }) => {
    const backfills = [{ watchIds: [idOfWatch(transferAbi)], next: 11, to: 12, from: 1, ...range }];
    await catcher.documents.advance({ ...read, backfills });
    expect((await page()).head).toBe(head);
    expect((await page('&eventSignature=Unknown')).head).toBe(HEAD);
    const final = await page('&status=finalized');
    expect([final.head, blocks(final), resumePointOf(final).historyFrom]).toEqual([head, [10, 11, 12], FINALIZED + 1]);
  });

  it('has no head while records of blocks that were read are still being stored', async () => {
    await catcher.documents.advanceOfChainsAlone(read);
    expect([(await page()).head, resumePointOf(await page()).position]).toEqual([null, await projected()]);
    expect(await page('&status=finalized')).toMatchObject({ head: null, cursor: null });
  });

  it('as of an earlier position continues there, on every page', async () => {
    const asOf = await catcher.foundation.eventStore.head();
    const answer = await page(`&asOf=${String(asOf)}`);
    expect([resumePointOf(answer), answer.head]).toEqual([{ position: asOf, newestAtMs: undefined }, null]);
  });
});
