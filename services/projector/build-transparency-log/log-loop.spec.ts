import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { testFoundation, type TestFoundation } from '../../../shared/testing/test-foundation.ts';
import { leafOf } from '../../../shared/transparency-log/leaf-entry.ts';
import { EMPTY_ROOT } from '../../../shared/transparency-log/merkle-tree.ts';
import { LOG } from '../../../shared/read-models/transparency-log.ts';
import { StoredLog } from '../../../shared/transparency-log/stored-log.ts';
import { TreeEdge } from '../../../shared/transparency-log/tiles.ts';
import { logLoop } from './log-loop.ts';

const logger = pino({ level: 'silent' });
const HAPPENS_WITHIN_MS = 5_000;

/** The root of the tree over these leaves, made at once. */
const rootOver = async ({ eventStore }: TestFoundation, isLeaf: (stream: string) => boolean) => {
  const { events } = await eventStore.readAll(0, undefined, 10_000);
  const edge = TreeEdge.empty();
  edge.append(events.filter(({ stream }) => isLeaf(stream)).map(leafOf));
  return { size: edge.size, root: edge.root() };
};

describe('the log', () => {
  it('has every lasting event as a leaf, however often its loop ends', async () => {
    const foundation = await testFoundation();
    const { eventStore, readStore } = foundation;
    const log = new StoredLog(readStore);
    const streams = ['app-1', 'challenge-1', 'chain-1', 'chain-1-0xab', 'chain-1-accepted', 'nonces-1-0xab', 'user-1'];
    const revisions = new Map<string, number>();
    for (let round = 0; round < 4; round += 1) {
      const { loop } = logLoop({ eventStore, readStore, logger });
      loop.start();
      for (const stream of streams.slice(0, 7 - round)) {
        const revision = revisions.get(stream) ?? -1;
        const events = Array.from({ length: 100 }, () =>
          anEvent({ type: 'AppRegistered', data: eventExamples.AppRegistered }),
        );
        revisions.set(stream, (await eventStore.append(stream, revision, events)).revision);
      }
      const head = await eventStore.head();
      await eventually(async () => (await readStore.position(LOG)) >= head, HAPPENS_WITHIN_MS, 'the log must catch up');
      await loop.stop();
      const lasting = (stream: string) => ['app-1', 'chain-1-0xab', 'user-1'].includes(stream);
      expect(await log.state()).toMatchObject(await rootOver(foundation, lasting));
    }
  });

  it.each([
    ['its checkpoint is ahead of its state, as after a late write of a former holder', 0],
    ['its state was dropped, and its checkpoint was not', 1],
  ])('is whole where %s', async (_, dropped) => {
    const foundation = await testFoundation();
    const { eventStore } = foundation;
    let { readStore } = foundation;
    const append = (stream: string) =>
      eventStore.append(stream, -1, [anEvent({ type: 'AppRegistered', data: eventExamples.AppRegistered })]);
    const follow = async (until: number) => {
      const { loop } = logLoop({ eventStore, readStore, logger });
      loop.start();
      const isThere = async () => (await new StoredLog(readStore).state()).position >= until;
      await eventually(isThere, HAPPENS_WITHIN_MS, 'the log must catch up');
      await loop.stop();
    };
    await follow((await append('app-1')).position);
    const ahead = await append('app-2');
    if (dropped) ({ readStore } = await testFoundation());
    await readStore.apply(LOG, [], ahead.position);
    await follow((await append('app-3')).position);
    expect(await new StoredLog(readStore).state()).toMatchObject(await rootOver(foundation, () => true));
  });

  it('makes its tiles anew where they were dropped, and its state was not', async () => {
    const foundation = await testFoundation();
    const { eventStore, readStore } = foundation;
    const append = (stream: string) =>
      eventStore.append(stream, -1, [anEvent({ type: 'AppRegistered', data: eventExamples.AppRegistered })]);
    const { position } = await append('app-1');
    await new StoredLog(readStore).store([], { size: 1, root: EMPTY_ROOT, position });
    const { loop } = logLoop({ eventStore, readStore, logger });
    loop.start();
    const last = await append('app-2');
    const isThere = async () => (await new StoredLog(readStore).state()).position >= last.position;
    await eventually(isThere, HAPPENS_WITHIN_MS, 'the log must catch up');
    await loop.stop();
    expect(await new StoredLog(readStore).state()).toMatchObject(await rootOver(foundation, () => true));
  });

  it('has a leaf also of an event that RFC 8785 has no form for', async () => {
    const foundation = await testFoundation();
    const { eventStore, readStore } = foundation;
    const broken = anEvent({ type: 'AppRegistered', data: { ...eventExamples.AppRegistered, name: '\ud800' } });
    const { position } = await eventStore.append('app-1', -1, [broken]);
    const { loop } = logLoop({ eventStore, readStore, logger });
    loop.start();
    await eventually(
      async () => (await readStore.position(LOG)) >= position,
      HAPPENS_WITHIN_MS,
      'it must become a leaf',
    );
    await loop.stop();
    expect((await new StoredLog(readStore).state()).size).toBe(1);
  });

  it('is whole after a crash between its tiles and its state', async () => {
    const foundation = await testFoundation();
    const { eventStore, readStore } = foundation;
    const log = new StoredLog(readStore);
    const append = (stream: string) =>
      eventStore.append(
        stream,
        -1,
        Array.from({ length: 300 }, () => anEvent({ type: 'AppRegistered', data: eventExamples.AppRegistered })),
      );
    const follow = async () => {
      const { loop } = logLoop({ eventStore, readStore, logger });
      loop.start();
      const head = await eventStore.head();
      await eventually(async () => (await readStore.position(LOG)) >= head, HAPPENS_WITHIN_MS, 'the log must catch up');
      await loop.stop();
    };
    await append('app-1');
    await follow();
    const apply = readStore.apply.bind(readStore);
    const crashed = Promise.withResolvers<undefined>();
    // A store without transactions has stored the tiles alone.
    readStore.apply = async (name, changes, ...rest) => {
      if (changes.length > 0) {
        await apply(`${name} before a crash`, changes.slice(0, -1), ...rest);
        crashed.resolve(undefined);
      }
      throw new Error('the store is gone');
    };
    await append('app-2');
    const { loop } = logLoop({ eventStore, readStore, logger });
    loop.start();
    await crashed.promise;
    await loop.stop();
    readStore.apply = apply;
    expect((await log.state()).size).toBe(300);
    await follow();
    expect(await log.state()).toMatchObject(await rootOver(foundation, () => true));
  });
});
