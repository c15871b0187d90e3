import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { contractKey } from '../../../schemas/topics.ts';
import type { EventPage } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { streamEvent } from '../../../schemas/socket/stream-messages.ts';
import { Cursors, type ResumePoint } from '../../../shared/keys/stream-cursors.ts';
import { casesOf } from '../../../shared/testing/cases.ts';
import { EarlierWatches } from '../../event-catcher/edge/earlier-watches.ts';
import { WatchModels } from '../../event-catcher/edge/watch-models.ts';
import { QueryEvents, QueryEventsHandler } from '../../event-catcher/query-events/query-events.handler.ts';
import { RecordQueries } from '../../event-catcher/query-events/record-queries.ts';
import { ChainSimulation, steps } from '../../stream/testing/chain-simulation.ts';
import { CHAIN_ID } from '../../stream/testing/fake-catcher.ts';
import { withinTicks, type MemorySubscriber } from '../../stream/testing/feed-under-test.ts';

const CALLER = { appId: 'app_1', userId: 'usr_1' };
const cases = { numRuns: casesOf(200), endOnFailure: true };

const scenario = fc.record({
  before: steps(25),
  restart: fc.boolean(),
  /** What happens while the pages are asked for, and after the subscription has begun. */
  whileAsked: steps(8),
  between: steps(8),
  after: steps(20),
  order: fc.constantFrom('asc' as const, 'desc' as const),
  take: fc.constantFrom(1, 7, 50, 1_000),
  /** Whether the client asks for every page, or for the first one alone. */
  everyPage: fc.boolean(),
  room: fc.integer({ min: 1, max: 12 }),
  /** Corrections of final blocks, before and after the subscription has begun. */
  corrections: fc.subarray(['withheld between', 'withheld after', 'reverted between', 'reverted after'] as const),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never;
type Asked = Pick<Scenario, 'order' | 'take' | 'everyPage'>;

/** Asks the event catcher's queries, in which everything else goes on between two reads. */
const catcherOf = ({ feed, contractAddress }: ChainSimulation) => {
  const { eventStore, projections, clock, edgeKey } = feed;
  const { readStore } = feed.historyOptions;
  const [search, getFound] = [readStore.search, readStore.getFound];
  readStore.search = async (...asked) => {
    await yieldToEventLoop();
    return search(...asked);
  };
  readStore.getFound = async (...asked) => {
    await yieldToEventLoop();
    return getFound(...asked);
  };
  const watchModels = new WatchModels(readStore, projections);
  const earlierWatches = new EarlierWatches(readStore, projections);
  const reads = { readStore, eventStore, watchModels, earlierWatches, projections, clock };
  const handler = new QueryEventsHandler(new RecordQueries(reads, edgeKey));
  const page = (query: { order: Asked['order']; take: number; status?: 'finalized'; cursor?: string }) =>
    handler.execute(
      new QueryEvents(
        { ...query, chainId: CHAIN_ID, contractAddress, caller: CALLER, skip: 0, arguments: new Map() },
        { holderKey: 'user:usr_1', ended: new AbortController().signal, showAsOf: () => undefined },
      ),
    );
  const scope = contractKey(CHAIN_ID, contractAddress);
  return {
    resumePointOf: (cursor: string): ResumePoint => new Cursors(edgeKey).read([scope], cursor),
    pages: async ({ order, take, everyPage }: Asked, status?: 'finalized'): Promise<EventPage[]> => {
      const query = { order, take, ...(status && { status }) };
      const pages = [await page(query)];
      for (let next = pages[0]?.next; everyPage && next; next = pages.at(-1)?.next) {
        pages.push(await page({ ...query, cursor: next }));
      }
      return pages;
    },
  };
};

/** What a client shows that was given records, and then was sent changes. */
const fold = (ids: readonly string[], { buffer }: MemorySubscriber): Set<string> => {
  const shown = new Set(ids);
  for (const { json } of buffer.sent) {
    const { change, event } = streamEvent.parse(JSON.parse(json));
    if (change === 'observed') shown.add(event.Id);
    else shown.delete(event.Id);
  }
  return shown;
};

/** The records that are not reverted after the changes up to a position, in chain order. */
const canonicalAt = ({ changes }: ChainSimulation, position = Infinity) => {
  const canonical = new Map<string, number>();
  for (const { change, record, position: changedAt } of changes) {
    if (changedAt > position) break;
    if (change === 'observed') canonical.set(record.Id, record.BlockNumber);
    else canonical.delete(record.Id);
  }
  return [...canonical].sort(([, one], [, other]) => one - other).map(([Id, block]) => ({ Id, block }));
};

const idsOf = (records: readonly { Id: string }[]): string[] => records.map(({ Id }) => Id);
const changedAfter = ({ changes }: ChainSimulation, position: number): Set<string> =>
  new Set(changes.filter((change) => change.position > position).map(({ record }) => record.Id));

/** Corrections of final blocks, as the verification stores them. */
const correct = (
  simulation: ChainSimulation,
  corrections: Scenario['corrections'],
  moment: 'between' | 'after',
): void => {
  for (const one of corrections) {
    if (one === `withheld ${moment}`) simulation.observeWithheld();
    if (one === `reverted ${moment}`) simulation.revertFinal();
  }
};

describe('a client that shows an answer of a query, and subscribes from its cursor', () => {
  it('shows what the chain has, of the page that it asked for and of everything that changed since', async () => {
    const property = fc.asyncProperty(scenario, async (given) => {
      const { everyPage, order, corrections, room } = given;
      const simulation = await ChainSimulation.after(given.before, given);
      const catcher = catcherOf(simulation);
      const asking = catcher.pages(given);
      await simulation.run(given.whileAsked);
      const pages = await asking;
      const { cursor } = pages[0] ?? {};
      if (typeof cursor !== 'string') throw new Error('an answer has a cursor');
      expect(new Set(pages.map((page) => page.cursor))).toEqual(new Set([cursor]));
      correct(simulation, corrections, 'between');
      await simulation.run(given.between);
      const { position } = catcher.resumePointOf(cursor);
      const subscriber = await simulation.feed.subscribe(simulation.contractAddress, { cursor }, room);
      correct(simulation, corrections, 'after');
      await simulation.run(given.after);
      const sent = await simulation.finish(subscriber);

      const positions = simulation.changes.map((change) => change.position);
      expect(sent).toEqual(positions.filter((changedAt) => changedAt > position));
      const shown = idsOf(pages.flatMap(({ items }) => items));
      const then = idsOf(canonicalAt(simulation, position));
      const changed = changedAfter(simulation, position);
      const unchanged = (ids: readonly string[]) => ids.filter((id) => !changed.has(id));
      const inOrder = unchanged(order === 'asc' ? then : then.toReversed());
      expect(unchanged(shown)).toEqual(inOrder.slice(0, unchanged(shown).length));
      const known = new Set([...shown, ...changed]);
      const expected = idsOf(canonicalAt(simulation)).filter((id) => everyPage || known.has(id));
      expect([...fold(shown, subscriber)].sort()).toEqual(expected.sort());
    });
    await fc.assert(property, cases);
  });

  it.each(['finalized', 'latest'] as const)(
    'of final records shows each once, when it subscribes to %s events',
    async (finality) => {
      const property = fc.asyncProperty(scenario, async (given) => {
        // A subscription to final events does not tell that one was taken back.
        const corrections = given.corrections.filter((one) => finality === 'latest' || one.startsWith('withheld'));
        const simulation = await ChainSimulation.after(given.before, { restart: false });
        await simulation.catchUp();
        const catcher = catcherOf(simulation);
        const asking = catcher.pages(given, 'finalized');
        await simulation.run(given.whileAsked);
        const pages = await asking;
        correct(simulation, corrections, 'between');
        await simulation.run(given.between);
        await simulation.catchUp();
        if (given.restart) await simulation.feed.restart();
        const { cursor, head } = pages[0] ?? {};
        // Without a cursor, the answer says that it cannot be continued yet.
        if (typeof cursor !== 'string' || typeof head !== 'number') return simulation.feed.close();
        const { position } = catcher.resumePointOf(cursor);
        const { contractAddress, feed } = simulation;
        const subscriber = await feed.subscribe(contractAddress, { cursor, finality }, given.room);
        correct(simulation, corrections, 'after');
        for (const step of given.after) {
          await simulation.run([step]);
          await feed.offerNewlyFinalized();
        }
        await simulation.finalizeAll();
        await feed.offerNewlyFinalized();
        const last = simulation.changes.at(-1)?.position;
        const isDone = () => subscriber.buffer.sent.at(-1)?.position === last;
        await withinTicks(isDone, 'the subscriber must be sent the last event');
        await feed.close();

        const shown = idsOf(pages.flatMap(({ items }) => items));
        const then = canonicalAt(simulation, position).filter(({ block }) => block <= head);
        const inOrder = idsOf(given.order === 'asc' ? then : then.toReversed());
        expect(shown).toEqual(given.everyPage ? inOrder : inOrder.slice(0, given.take));
        const changed = changedAfter(simulation, position);
        const isKnown = ({ Id, block }: { Id: string; block: number }) =>
          given.everyPage || block > head || shown.includes(Id) || changed.has(Id);
        const expected = idsOf(canonicalAt(simulation).filter(isKnown));
        expect([...fold(shown, subscriber)].sort()).toEqual(expected.sort());
        if (finality === 'latest') return undefined;
        const answered = new Set(shown);
        expect(subscriber.buffer.sent).toHaveLength(expected.filter((id) => !answered.has(id)).length);
        return undefined;
      });
      await fc.assert(property, cases);
    },
  );
});
