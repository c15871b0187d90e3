import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../schemas/json.ts';
import { collections } from '../../../shared/read-models/catalogue.ts';
import { chainEventDocumentId, chainEventsModel } from '../../../shared/read-models/event-catcher/chain-events.ts';
import { SqliteReadStore } from '../../../shared/read-store/embedded/read-store.sqlite.ts';
import type { FindOptions } from '../../../shared/read-store/read-store.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { BYTES_WAITING_MAX } from '../connections/bounded-buffer.ts';
import { aRecord, CHAIN_ID, newContract } from '../testing/fake-catcher.ts';
import type { StreamClient } from '../testing/stream-client.socketio.ts';
import { streamUnderTest } from '../testing/stream-under-test.module.ts';
import { HISTORIES_PER_USER } from './subscriptions.ts';

const RECORDS = 100_000;
const RARE = 'Approval(address indexed,address indexed,uint256)';
const RARE_EVERY = 5_000;
const BATCH = 5_000;
/** More than one event needs. */
const EVENT_BYTES = 2_000;
/** What the pieces of some subscriptions look through. A history in one piece looks through all records. */
const RECORDS_PER_TICK = 10_000;
const folder = temporaryFolder();

/**
 * The most records that a query looks through. A query for the records of a watch may look through all between its two
 * positions; one for the records of a contract, such as `positionOfNth`, and one by ids end at `skip + limit`.
 */
const recordsSearched = ({ filter = {}, skip = 0, limit = Infinity }: FindOptions): number => {
  const { gt, lte } = (filter['observedPosition'] ?? { gt: 0, lte: Infinity }) as { gt: number; lte: number };
  return Math.min(lte - gt, 'WatchId' in filter && !('id' in filter) ? Infinity : skip + limit);
};

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

  /** Counts the records that the read store looks through for what is done, in all, and at most in a tick of the loop. */
  const recordsReadDuring = async (work: () => Promise<unknown>) => {
    const [read, find] = [{ inAll: 0, inTickMax: 0 }, readStore.find.bind(readStore)];
    let inTick = 0;
    let tick = setImmediate(function begin() {
      inTick = 0;
      tick = setImmediate(begin);
    });
    readStore.find = (collection, options) => {
      if (collection === chainEventsModel.collections.record.name) {
        inTick += recordsSearched(options);
        read.inAll += recordsSearched(options);
        read.inTickMax = Math.max(read.inTickMax, inTick);
      }
      return find(collection, options);
    };
    try {
      await work();
    } finally {
      readStore.find = find;
      clearImmediate(tick);
    }
    return read;
  };

  it('of one user over many connections, which read nothing, hold up nobody and cost little memory', async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => stream.connect()));
    const mostAtOnce = { connections: 0, bytes: 0 };
    const areStalled = () => {
      const waiting = stream.bytesUnsent().filter((bytes) => bytes > 0);
      mostAtOnce.connections = Math.max(mostAtOnce.connections, waiting.length);
      mostAtOnce.bytes = Math.max(mostAtOnce.bytes, ...waiting);
      return waiting.length === HISTORIES_PER_USER;
    };
    const read = await recordsReadDuring(async () => {
      await Promise.all(
        clients.map(async (client) => {
          await client.subscribe(contractAddress, { finality: 'finalized', fromBlock: 0 });
          client.stopReading();
        }),
      );
      await eventually(areStalled, 20_000, 'as many histories as a user may have must wait for their clients');
      await idle.subscribe(contractAddress, { eventSignature: 'Approval', finality: 'finalized', fromBlock: 0 });
      await idle.waitForMessage('live');
      await eventually(areStalled, 20_000, 'the histories must still wait for their clients');
    });
    expect(idle.events).toHaveLength(RECORDS / RARE_EVERY);
    expect(read.inTickMax).toBeLessThanOrEqual(RECORDS_PER_TICK);
    expect(mostAtOnce.connections).toBe(HISTORIES_PER_USER);
    expect(mostAtOnce.bytes).toBeLessThan(BYTES_WAITING_MAX + EVENT_BYTES);
    for (const client of clients) client.close();
  });

  it('of a rare event, of recent blocks and from now on begin at once, however many records the contract has', async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => stream.connect({ sub: 'usr_3' })));
    const rare = { eventSignature: 'Approval', finality: 'finalized', fromBlock: 0 };
    const recent = { eventSignature: 'Transfer', fromBlock: RECORDS - 10 };
    const wanted = [rare, { ...recent, finality: 'finalized' }, { ...recent, finality: 'latest' }];
    const follow = async (client: StreamClient, command: object = {}) => {
      await client.subscribe(contractAddress, command);
      await client.waitForMessage('live');
    };
    const ofAll = await recordsReadDuring(() =>
      Promise.all(clients.map((client, at) => follow(client, wanted[at % wanted.length]))),
    );
    expect(ofAll.inTickMax).toBeLessThanOrEqual(RECORDS_PER_TICK);
    const counts = clients.map(({ events }, at) => `${String(at % wanted.length)}: ${String(events.length)}`);
    expect([...new Set(counts)]).toEqual(['0: 20', '1: 10', '2: 10']);
    const other = await stream.connect({ sub: 'usr_3' });
    const ofRecent = await recordsReadDuring(() => follow(other, wanted[1]));
    expect(ofRecent.inAll).toBeLessThanOrEqual(RECORDS_PER_TICK);
    for (const client of [...clients, other]) client.close();
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
