import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { streamPage, type StreamPage } from '../../../../schemas/http/stream/stream-routes.ts';
import type { StreamEvent } from '../../../../schemas/socket/stream-messages.ts';
import { casesOf } from '../../../../shared/testing/cases.ts';
import { ChainSimulation, steps } from '../../testing/chain-simulation.ts';

const cases = { numRuns: casesOf(200), endOnFailure: true };
const scenario = fc.record({
  before: steps(25),
  /** What happens after each page. */
  between: fc.array(steps(4), { maxLength: 12 }),
  takes: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
  /** After how many ticks a stopping node ends a page, by page. */
  ends: fc.array(fc.option(fc.nat({ max: 8 }), { nil: undefined }), { maxLength: 12 }),
  fromBlock: fc.nat({ max: 40 }),
});
const PAGES_MAX = 5_000;

/** A client that has the records that are current, and knows a repeat by its cursor. */
class Folded {
  readonly records = new Map<string, string>();
  private readonly known = new Set<string>();

  /** @param fromBlock changes of earlier blocks come only after the history */
  constructor(private readonly fromBlock: number) {}

  take({ change, cursor, event }: StreamEvent): void {
    if (this.known.has(cursor)) return;
    this.known.add(cursor);
    if (change === 'observed') {
      expect(this.records.has(event.Id)).toBe(false);
      this.records.set(event.Id, cursor);
    } else {
      const wasKnown = this.records.delete(event.Id);
      expect(wasKnown || event.BlockNumber < this.fromBlock).toBe(true);
    }
  }
}

const read = async (
  simulation: ChainSimulation,
  options: { cursor?: string; fromBlock?: number; take: number; endsAfterTicks?: number },
) => {
  const { json, etag } = await simulation.feed.readPage(simulation.contractAddress, options);
  return { etag, page: streamPage.parse(JSON.parse(json)) };
};

describe('the pages of a channel', () => {
  it('fold to what is current, whatever a reorganisation moves between two of them', async () => {
    const property = fc.asyncProperty(scenario, async ({ before, between, takes, ends, fromBlock }) => {
      const simulation = await ChainSimulation.after(before, { restart: false });
      const client = new Folded(fromBlock);
      const full: { cursor: string; take: number; page: StreamPage }[] = [];
      let cursor: string | undefined;
      for (let index = 0; ; index += 1) {
        expect(index).toBeLessThan(PAGES_MAX);
        const take = takes[index % takes.length] ?? 1;
        const endsAfterTicks = ends[index];
        const how = { take, ...(endsAfterTicks !== undefined && { endsAfterTicks }) };
        const { page, etag } = await read(simulation, {
          ...(cursor === undefined ? { fromBlock } : { cursor }),
          ...how,
        });
        expect(page.items.length).toBeLessThanOrEqual(take);
        for (const item of page.items) client.take(item);
        if (etag !== undefined && cursor !== undefined) full.push({ cursor, take, page });
        cursor = page.cursor;
        const happens = between[index];
        if (happens) await simulation.run(happens);
        else if (index === between.length) await simulation.catchUp();
        else if (page.live && page.items.length === 0) break;
      }
      for (const { cursor, take, page } of full) expect((await read(simulation, { cursor, take })).page).toEqual(page);
      await simulation.feed.close();
      const wanted = simulation.canonicalFrom(fromBlock).map(({ record }) => record.Id);
      const got = [...client.records.keys()];
      expect(wanted.filter((id) => !got.includes(id))).toEqual([]);
      const current = new Set(simulation.canonicalFrom(0).map(({ record }) => record.Id));
      expect(got.filter((id) => !current.has(id))).toEqual([]);
    });
    await fc.assert(property, cases);
  });

  it('of final events are the final ones, each once, in the order of observation', async () => {
    const property = fc.asyncProperty(scenario, async ({ before, between, takes }) => {
      const simulation = await ChainSimulation.after(before, { restart: false });
      await simulation.catchUp();
      for (const happens of between) await simulation.run(happens);
      await simulation.finalizeAll();
      const wanted = simulation.canonicalPositions;
      const got: string[] = [];
      let page: StreamPage | undefined;
      for (let index = 0; page?.live !== true || page.items.length > 0; index += 1) {
        const options = page ? { cursor: page.cursor } : { fromBlock: 0 };
        const take = takes[index % takes.length] ?? 1;
        const { contractAddress } = simulation;
        const { json } = await simulation.feed.readPage(contractAddress, { ...options, take, finality: 'finalized' });
        page = streamPage.parse(JSON.parse(json));
        got.push(...page.items.map((item) => item.cursor));
      }
      const cursors = wanted.map((position) =>
        simulation.feed.cursorOf(simulation.contractAddress, position, 'finalized'),
      );
      expect(got).toEqual(await Promise.all(cursors));
      await simulation.feed.close();
    });
    await fc.assert(property, cases);
  });
});
