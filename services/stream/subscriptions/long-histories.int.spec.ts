import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../schemas/json.ts';
import { collections } from '../../../shared/read-models/catalogue.ts';
import { chainEventDocumentId, chainEventsModel } from '../../../shared/read-models/event-catcher/chain-events.ts';
import { SqliteReadStore } from '../../../shared/read-store/embedded/read-store.sqlite.ts';
import { startStopwatch } from '../../../shared/testing/stopwatch.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { aRecord, CHAIN_ID, newContract } from '../testing/fake-catcher.ts';
import type { StreamClient } from '../testing/stream-client.socketio.ts';
import { streamUnderTest } from '../testing/stream-under-test.module.ts';

const MIB = 1_024 * 1_024;
const RECORDS = 100_000;
const RARE = 'Approval(address indexed,address indexed,uint256)';
const RARE_EVERY = 5_000;
const BATCH = 5_000;
const folder = temporaryFolder();

describe('long histories', () => {
  const readStore = new SqliteReadStore(join(folder, 'read.db'));
  const contractAddress = newContract();
  let stream: Awaited<ReturnType<typeof streamUnderTest>>;
  let idle: StreamClient;

  beforeAll(async () => {
    await readStore.define(collections);
    stream = await streamUnderTest({ readStore, environment: { RATE_LIMITS: '{}' } });
    await stream.catcher.register(contractAddress);
    await stream.catcher.register(contractAddress, RARE);
    await fillReadStore();
    idle = await stream.connect({ sub: 'usr_other' });
  });
  afterAll(async () => {
    await stream.close();
    await readStore.close();
  });

  /** Stores what the projector would, without events. */
  const fillReadStore = async () => {
    for (let from = 1; from <= RECORDS; from += BATCH) {
      const changes = Array.from({ length: BATCH }, (_, index) => {
        const block = from + index;
        const signature = block % RARE_EVERY === 0 ? { signature: RARE } : {};
        const record = aRecord({ contractAddress, block, ...signature, data: { value: '1'.repeat(200) } });
        const document: JsonObject = {
          ...record,
          changes: [block],
          observedPosition: block,
          reverted: false,
          segment: 0,
        };
        const collection = chainEventsModel.collections.record.name;
        return { collection, id: chainEventDocumentId(record), position: block, document };
      });
      await readStore.apply(chainEventsModel.name, changes, RECORDS + 10);
    }
    await stream.catcher.finalize(RECORDS);
  };

  /** How long another user's commands take to be answered while the work goes on, in milliseconds. */
  const delaysDuring = async (work: Promise<unknown>): Promise<number[]> => {
    const delays: number[] = [];
    const ending = new AbortController();
    const done = work.finally(() => {
      ending.abort();
    });
    do {
      const passedMs = startStopwatch();
      await idle.refused('unsubscribe', { subscriptionId: 'none' });
      delays.push(passedMs());
      await pause(25);
    } while (!ending.signal.aborted);
    await done;
    return delays.sort((one, other) => one - other);
  };
  const expectServed = (delays: readonly number[]) => {
    const figures = { median: delays[delays.length >> 1] ?? NaN, longest: delays.at(-1) ?? NaN };
    expect(figures.median).toBeLessThan(50);
    // In one piece, a history of this length takes longer. The rest is for a busy machine.
    expect(figures.longest).toBeLessThan(5_000);
  };

  it('of one user over many connections, which read nothing, hold up nobody and cost little memory', async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => stream.connect()));
    const before = process.memoryUsage().rss;
    const work = clients.map(async (client) => {
      await client.subscribe(contractAddress, { finality: 'finalized', fromBlock: 0 });
      client.stopReading();
      await pause(3_000);
    });
    expectServed(await delaysDuring(Promise.all(work)));
    expect((process.memoryUsage().rss - before) / MIB).toBeLessThan(150);
    for (const client of clients) client.close();
  });

  it('of a rare event, of recent blocks and from now on begin at once, however many records the contract has', async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => stream.connect({ sub: 'usr_3' })));
    const wanted = [
      { eventSignature: 'Approval', finality: 'finalized', fromBlock: 0 },
      { eventSignature: 'Transfer', finality: 'finalized', fromBlock: RECORDS - 10 },
      { eventSignature: 'Transfer', finality: 'latest', fromBlock: RECORDS - 10 },
    ];
    const work = clients.map(async (client, at) => {
      await client.subscribe(contractAddress, wanted[at % wanted.length]);
      await client.waitForMessage('live');
    });
    expectServed(await delaysDuring(Promise.all(work)));
    const counts = clients.map(({ events }, at) => `${String(at % wanted.length)}: ${String(events.length)}`);
    expect([...new Set(counts)]).toEqual(['0: 20', '1: 10', '2: 10']);
    for (const client of clients) client.close();
  });

  it('are sent whole, in order, with the status finalized', async () => {
    const client = await stream.connect({ sub: 'usr_4' });
    await client.subscribe(contractAddress, { fromBlock: RECORDS - 2_998, chainId: CHAIN_ID });
    await client.waitForMessage('live');
    const blocks = Array.from({ length: 2_999 }, (_, at) => RECORDS - 2_998 + at).filter((at) => at % RARE_EVERY !== 0);
    expect(client.events.map(({ event }) => event.BlockNumber)).toEqual(blocks);
    expect(new Set(client.events.map(({ event }) => event.Status))).toEqual(new Set(['finalized']));
  });
});
