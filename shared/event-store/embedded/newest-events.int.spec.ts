import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { anEvent } from '../../testing/event-builder.ts';
import { eventually } from '../../testing/eventually.ts';
import { SeededRandom } from '../../testing/simulation/seeded-random.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { TestClock } from '../../testing/test-foundation.ts';
import { SqliteEventStore } from './event-store.sqlite.ts';

const folder = temporaryFolder();
const STREAM = 'test-read-often';

describe('a stream that is read on from its newest event', () => {
  let file: string;
  let clock: TestClock;
  let store: SqliteEventStore;
  beforeEach(() => {
    file = join(folder, `${randomUUID()}.db`);
    clock = new TestClock();
    store = new SqliteEventStore(file, clock);
  });

  /** Reads twice, so that the second answer comes from the cache. */
  const readFrom = async (from: number, limit = 200) => {
    const first = await store.read(STREAM, { from, limit });
    expect(await store.read(STREAM, { from, limit })).toEqual(first);
    return first.map(({ revision }) => revision);
  };

  it('has what was appended since', async () => {
    await store.append(STREAM, -1, [anEvent(), anEvent()]);
    expect(await readFrom(0)).toEqual([0, 1]);
    expect(await readFrom(1)).toEqual([1]);
    await store.append(STREAM, 1, [anEvent()]);
    expect(await readFrom(1)).toEqual([1, 2]);
    expect(await readFrom(2)).toEqual([2]);
    expect(await readFrom(1, 1)).toEqual([1]);
    expect(await readFrom(3)).toEqual([]);
    expect(await store.read(STREAM, { from: 2, limit: 0 })).toEqual([]);
    await store.close();
  });

  it('has what another connection has appended', async () => {
    const other = new SqliteEventStore(file, clock);
    await store.append(STREAM, -1, [anEvent()]);
    for (let revision = 0; revision < 5; revision += 1) {
      expect(await readFrom(revision)).toEqual([revision]);
      await other.append(STREAM, revision, [anEvent()]);
      expect(await readFrom(revision)).toEqual([revision, revision + 1]);
    }
    await other.close();
    await store.close();
  });

  it('has nothing that the store has forgotten', async () => {
    await store.append(STREAM, -1, [anEvent()], { seconds: 60 });
    await store.append('test-newest', -1, [anEvent()]);
    expect(await readFrom(0)).toEqual([0]);
    clock.time += 60_001;
    const isForgotten = async () => (await store.read(STREAM)).length === 0;
    await eventually(isForgotten, 10_000, 'the event must be forgotten');
    await store.close();
  });

  it('is never older than an append that was acknowledged before, whoever appends and reads at the same time', async () => {
    const random = new SeededRandom(7);
    const other = new SqliteEventStore(file, clock);
    await store.append(STREAM, -1, [anEvent()]);
    let acknowledged = 0;
    const append = async (): Promise<void> => {
      const by = random.chance(0.3) ? other : store;
      await by.append(STREAM, acknowledged, [anEvent()]);
      acknowledged += 1;
    };
    const read = async (): Promise<void> => {
      const from = Math.max(0, acknowledged - random.between(0, 1));
      const before = acknowledged;
      const newest = (await store.read(STREAM, { from, limit: 200 })).at(-1)?.revision;
      expect(newest).toBeGreaterThanOrEqual(before);
    };
    for (let round = 0; round < 200; round += 1)
      await Promise.all([append(), ...Array.from({ length: random.between(1, 5) }, read)]);
    expect(acknowledged).toBe(200);
    await other.close();
    await store.close();
  });
});
