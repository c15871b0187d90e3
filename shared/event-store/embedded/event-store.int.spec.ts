import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from '@jest/globals';
import { reportDamage } from '../../primitives/sqlite/damage/damaged-files.ts';
import { anEvent } from '../../testing/event-builder.ts';
import { eventually } from '../../testing/eventually.ts';
import { TestClock } from '../../testing/test-foundation.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { eventStoreContract } from '../event-store.contract.ts';
import { SqliteEventStore } from './event-store.sqlite.ts';

const folder = temporaryFolder();
const aFile = () => join(folder, `${randomUUID()}.db`);

const contractClock = new TestClock();
eventStoreContract('SQLite', () => Promise.resolve(new SqliteEventStore(aFile(), contractClock)), {
  seconds: 3_600,
  pass: () => {
    contractClock.time += 3_600_001;
  },
});

describe('event store on SQLite, beside other connections', () => {
  it('shows a subscriber of another connection what was appended', async () => {
    const file = aFile();
    const [writer, reader] = [new SqliteEventStore(file), new SqliteEventStore(file)];
    const stop = new AbortController();
    const seen: string[] = [];
    const following = (async () => {
      for await (const { events } of reader.subscribeAll(0, undefined, stop.signal)) {
        seen.push(...events.map(({ stream }) => stream));
      }
    })();
    for (let revision = -1; revision < 4; revision += 1) {
      await writer.append('test-shared', revision, [anEvent()]);
      await eventually(() => seen.length === revision + 2, 10_000, 'the other connection must see the event');
    }
    stop.abort();
    await following;
    await Promise.all([writer.close(), reader.close()]);
    expect(seen).toHaveLength(5);
  });

  it('lets one of two writers at the same revision win, and loses no event of either', async () => {
    const file = aFile();
    const writers = [new SqliteEventStore(file), new SqliteEventStore(file)];
    const outcomes = await Promise.allSettled(
      writers.flatMap((writer, who) =>
        Array.from({ length: 100 }, (_, index) =>
          writer.append(`test-${String(index)}`, -1, [anEvent({ data: { who } })]),
        ),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(100);
    expect((await writers[0]?.readAll(0, undefined, 1_000))?.events).toHaveLength(100);
    await Promise.all(writers.map((writer) => writer.close()));
  });

  it('forgets each event of a stream that keeps the newest, also of many that were appended together', async () => {
    const store = new SqliteEventStore(aFile());
    await store.append(
      'test-newest',
      -1,
      Array.from({ length: 30 }, () => anEvent()),
      { newest: 3 },
    );
    expect((await store.read('test-newest')).map(({ revision }) => revision)).toEqual([27, 28, 29]);
    await store.append(
      'chain-2484',
      -1,
      Array.from({ length: 30 }, () => anEvent()),
    );
    await store.append('chain-2484', 29, [anEvent()], { newest: 3 });
    expect((await store.read('chain-2484')).map(({ revision }) => revision)).toEqual([28, 29, 30]);
    await store.close();
  });

  it('keeps what it acknowledged after it is reopened', async () => {
    const file = aFile();
    const before = new SqliteEventStore(file);
    const { position } = await before.append('test-kept', -1, [anEvent(), anEvent()]);
    await before.close();
    const after = new SqliteEventStore(file);
    expect(await after.head()).toBe(position);
    expect(await after.read('test-kept')).toHaveLength(2);
    await after.close();
  });

  it('deletes no event because the disk changed when or which one is to be forgotten', async () => {
    const [file, clock] = [aFile(), new TestClock()];
    const store = new SqliteEventStore(file, clock);
    await store.append('test-kept', -1, [anEvent()]);
    await store.append('test-forgotten', -1, [anEvent()], { seconds: 90_000 });
    await store.append('test-newest', -1, [anEvent()]);
    const disk = new DatabaseSync(file);
    disk.exec('UPDATE forgotten_events SET position = 1');
    disk.close();
    const said = Promise.withResolvers<string>();
    reportDamage(said.resolve);
    clock.time += 90_000_001;
    expect(await said.promise).toContain(`${file} is damaged`);
    expect(await store.read('test-kept')).toHaveLength(1);
    await store.close();
  });

  it('forgets after 25 hours, also what another process appended, and never the newest event', async () => {
    const [file, clock] = [aFile(), new TestClock()];
    const [first, second] = [new SqliteEventStore(file, clock), new SqliteEventStore(file, clock)];
    const keep = { seconds: 90_000 };
    await first.append('test-forgotten', -1, [anEvent()], keep);
    await first.close();
    clock.time += 90_000_001;
    await second.append('test-newest', -1, [anEvent()], keep);
    const isForgotten = async () => (await second.read('test-forgotten')).length === 0;
    await eventually(isForgotten, 10_000, 'the old event must be forgotten');
    expect(await second.read('test-newest')).toHaveLength(1);
    clock.time += 90_000_001;
    const { position } = await second.append('test-other', -1, [anEvent()]);
    expect(position).toBe(3);
    await second.close();
  });

  it('forgets a thousand events without holding up the process for long', async () => {
    const clock = new TestClock();
    const store = new SqliteEventStore(aFile(), clock);
    for (let at = 0; at < 1_000; at += 1) {
      void store.append(`test-${String(at)}`, -1, [anEvent()], { seconds: 1 });
    }
    await store.append('test-kept', -1, [anEvent()]);
    clock.time += 1_001;
    const all = async () => (await store.readAll(0, undefined, 2_000)).events.length;
    await eventually(async () => (await all()) <= 501, 10_000, 'the first half must be forgotten');
    await eventually(async () => (await all()) === 1, 10_000, 'all but the kept event must be forgotten');
    await store.close();
  });

  it('goes on with other work between reads that came together, and answers those that are open when it is closed', async () => {
    const store = new SqliteEventStore(aFile());
    const events = Array.from({ length: 400 }, () => anEvent());
    await store.append('test-long', -1, events);
    let ticks = 0;
    const count = () => {
      ticks += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const answers = await Promise.all(Array.from({ length: 20 }, () => store.read('test-long')));
    clearImmediate(next);
    expect(answers.map(({ length }) => length)).toEqual(Array.from({ length: 20 }, () => 400));
    expect(ticks).toBeGreaterThanOrEqual(9);
    const open = Array.from({ length: 5 }, () => store.read('test-long', { limit: 200 }));
    await store.close();
    expect((await Promise.all(open)).flat()).toHaveLength(1_000);
    await expect(store.read('test-long')).rejects.toThrow();
  });

  it('refuses appends once it is closed', async () => {
    const store = new SqliteEventStore(aFile());
    await store.close();
    await expect(store.append('test-late', -1, [anEvent()])).rejects.toMatchObject({ code: 'shutting_down' });
  });
});
