import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { sealLeaf } from '../../../shared/audit/seals/seal-tree.ts';
import { SealedHistories } from '../../../shared/audit/seals/sealed-histories.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { collections } from '../../../shared/read-models/catalogue.ts';
import { historyModel } from '../../../shared/read-models/account/history.ts';
import { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { projectInto, projectStored } from '../../../shared/testing/project.ts';
import { inSimulatedTime } from '../../../shared/testing/simulation/simulated-globals.ts';
import { testFoundation, type TestFoundation } from '../../../shared/testing/test-foundation.ts';
import { rootByInclusion, rootOf } from '../../../shared/transparency-log/merkle-tree.ts';
import { modelInVersion } from '../run-projection/versions/version-names.ts';
import { sealLoop } from './seal-loop.ts';

const HAPPENS_WITHIN_MS = 30_000;

const changeOf = (userId: string, username: string) =>
  anEvent({ type: 'ProfileUpdated', data: { ...eventExamples.ProfileUpdated, userId, changes: { username } } });

const append = (foundation: TestFoundation, userId: string, revision: number) =>
  foundation.eventStore.append(`user-${userId}`, revision, [changeOf(userId, String(revision))]);

const sealsOf = async ({ eventStore }: TestFoundation): Promise<StoredEvent[]> =>
  (await eventStore.read('log')).filter(({ type }) => type === 'HistoriesSealed');

const sealedBy = async (foundation: TestFoundation, isDone: () => Promise<boolean>, loops = 1): Promise<void> => {
  const running = Array.from({ length: loops }, () => sealLoop(foundation));
  for (const loop of running) loop.start();
  try {
    await eventually(isDone, HAPPENS_WITHIN_MS, 'histories must be sealed');
  } finally {
    await Promise.all(running.map((loop) => loop.stop()));
  }
};

const { item, head } = historyModel.collections;

describe('the seal of histories', () => {
  const started = (SEAL_SECONDS = '1') => testFoundation({ environment: { SEAL_SECONDS } });
  const headOf = async ({ readStore }: TestFoundation, userId: string) => {
    const stored = (await readStore.getMany(head.name, [userId])).get(userId);
    const { count: items, hash } = head.document.parse(stored?.document);
    return { userId, items, hash };
  };

  it('has a leaf of each history, sorted by the hash of the user id, and names the event up to which they are', async () => {
    const foundation = await started();
    const users = ['usr_1', 'usr_2', 'usr_3'].toSorted((one, other) => (sha256(one) < sha256(other) ? -1 : 1));
    for (const user of users) await append(foundation, user, -1);
    await append(foundation, 'usr_2', 0);
    await projectStored(foundation);
    await sealedBy(foundation, async () => (await sealsOf(foundation)).length > 0);
    const [seal] = await sealsOf(foundation);
    const leaves = await Promise.all(users.map(async (user) => sealLeaf(await headOf(foundation, user)).leaf));
    const [left, right, last] = leaves;
    if (!left || !right || !last) throw new Error('three users have leaves');
    const root = rootOf([rootOf([left, right]), last]);
    expect(seal?.data).toEqual({ users: 3, root: root.toString('base64') });
    const newest = await foundation.eventStore.read('user-usr_2', { from: 1 });
    expect(seal?.metadata).toMatchObject({ actor: { type: 'system' }, causationId: newest[0]?.id });
  });

  it('is made by one process, and not again before something happened', () =>
    inSimulatedTime(async () => {
      const foundation = await started();
      await append(foundation, 'usr_1', -1);
      await projectStored(foundation);
      const hasOne = async () => (await sealsOf(foundation)).length > 0;
      await sealedBy(foundation, hasOne, 3);
      await projectStored(foundation);
      // A second loop looks at least once, because it takes over the lease after the first has stopped.
      let looked = 0;
      const checkpoints = foundation.readStore.checkpoints.bind(foundation.readStore);
      foundation.readStore.checkpoints = () => {
        looked += 1;
        return checkpoints();
      };
      await sealedBy(foundation, () => Promise.resolve(looked > 1));
      expect(await sealsOf(foundation)).toHaveLength(1);
      await append(foundation, 'usr_1', 0);
      await projectStored(foundation);
      await sealedBy(foundation, async () => (await sealsOf(foundation)).length > 1);
    }));

  it('has an item that was stored before the last seal and projected after, also if nothing else happens', () =>
    inSimulatedTime(async () => {
      const foundation = await started();
      const { eventStore, readStore } = foundation;
      await append(foundation, 'usr_1', -1);
      await projectStored(foundation);
      await append(foundation, 'usr_1', 0);
      await sealedBy(foundation, async () => (await sealsOf(foundation)).length > 0);
      await projectStored(foundation);
      await sealedBy(foundation, async () => (await sealsOf(foundation)).length > 1);
      const seal = (await sealsOf(foundation)).at(-1);
      if (!seal) throw new Error('there is a seal');
      const stored = await readStore.find(item.name, { filter: { userId: 'usr_1' }, sort: [['sequence', 'asc']] });
      const hashes = stored.map(({ document }) => (document as { hash: string }).hash);
      const histories = new SealedHistories(eventStore, readStore);
      expect(await histories.find(seal, 'usr_1', hashes)).toMatchObject({ items: 2 });
      // A new read store gets this tree again.
      expect((await histories.treeOf(seal))?.root.toString('base64')).toBe(seal.data['root']);
    }));

  it('is of the histories as they were at one event, while they change and begin', async () => {
    const foundation = await started();
    const { eventStore, readStore } = foundation;
    for (const user of ['usr_1', 'usr_2']) await append(foundation, user, -1);
    await projectStored(foundation);
    const histories = new SealedHistories(eventStore, readStore);
    const before = await histories.treeNow();
    for (const revision of [0, 1, 2]) await append(foundation, 'usr_1', revision);
    await append(foundation, 'usr_0', -1);
    const checkpoints = await readStore.checkpoints();
    await projectStored(foundation);
    readStore.checkpoints = () => Promise.resolve(checkpoints);
    expect(await histories.treeNow()).toEqual(before);
    expect(before?.tree.users).toBe(2);
  });

  it('is of the version of the histories that is read, after the first was dropped', async () => {
    const foundation = await started();
    const { eventStore, readStore } = foundation;
    for (const user of ['usr_1', 'usr_2']) await append(foundation, user, -1);
    const rebuilt = await modelInVersion(historyModel, 2, readStore);
    await projectInto(readStore, [rebuilt], (await eventStore.readAll(0, undefined, Infinity)).events);
    const versions = { current: 2, next: 3, versions: [{ number: 2, state: 'ready' as const, rate: null }] };
    await readStore.replaceVersions(historyModel.name, undefined, versions);
    await sealedBy(foundation, async () => (await sealsOf(foundation)).length > 0);
    expect((await sealsOf(foundation))[0]?.data['users']).toBe(2);
  });

  it('proves how long a history was, also after the read store was lost', async () => {
    const foundation = await started();
    const { eventStore } = foundation;
    for (let user = 0; user < 600; user += 1) await append(foundation, `usr_${String(user)}`, -1);
    await projectStored(foundation);
    await sealedBy(foundation, async () => (await sealsOf(foundation)).length > 0);
    const [seal] = await sealsOf(foundation);
    if (!seal) throw new Error('there is a seal');
    await append(foundation, 'usr_7', 0);
    const lost = new MemoryReadStore();
    await lost.define(collections);
    await projectStored({ ...foundation, readStore: lost });
    for (const readStore of [foundation.readStore, lost]) {
      const histories = new SealedHistories(eventStore, readStore);
      const isStored = async () => (await histories.newestStored())?.revision === seal.revision;
      await sealedBy({ ...foundation, readStore, settings: (await started('3600')).settings }, isStored);
      for (const user of [0, 7, 255, 256, 599].map((number) => `usr_${String(number)}`)) {
        const head = await headOf({ ...foundation, readStore }, user);
        const [first] = await readStore.find(item.name, {
          filter: { userId: user, sequence: 0 },
        });
        const hashes = [
          (first?.document as { hash: string } | undefined)?.hash ?? '',
          ...(head.items > 1 ? [head.hash] : []),
        ];
        const found = await histories.find(seal, user, hashes);
        const { leaf } = sealLeaf({ userId: user, items: 1, hash: hashes[0] ?? '' });
        expect(found).toMatchObject({ items: 1, hash: hashes[0] });
        const { index = NaN, proof = [] } = found ?? {};
        expect(rootByInclusion(leaf, { index, size: 600 }, proof)?.toString('base64')).toBe(seal.data['root']);
      }
      expect(await histories.find(seal, 'usr_600', ['0'.repeat(64)])).toBeUndefined();
    }
  });

  it('is not restored from histories that are not as they were sealed', async () => {
    const foundation = await started('3600');
    await append(foundation, 'usr_1', -1);
    await projectStored(foundation);
    await sealedBy(foundation, async () => (await sealsOf(foundation)).length > 0);
    const lost = new MemoryReadStore();
    await lost.define(collections);
    const events = await foundation.eventStore.read('user-usr_1');
    const changed = events.map(({ data, metadata, ...event }) => ({
      ...{ ...event, data, metadata },
      time: event.time + 1,
    }));
    await projectInto(lost, [historyModel], changed);
    await lost.apply(historyModel.name, [], await foundation.eventStore.head());
    const isLogged = () => foundation.logged.some(({ msg }) => String(msg).includes('not as they were sealed'));
    await sealedBy({ ...foundation, readStore: lost }, () => Promise.resolve(isLogged()));
    expect(await new SealedHistories(foundation.eventStore, lost).newestStored()).toBeUndefined();
  });
});
