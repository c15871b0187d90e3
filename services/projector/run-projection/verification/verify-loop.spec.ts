import { beforeEach, describe, expect, it } from '@jest/globals';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import type { SupervisedLoop } from '../../../../shared/loops/supervised-loop.ts';
import { usersModel } from '../../../../shared/read-models/account/users.ts';
import { readModels } from '../../../../shared/read-models/catalogue.ts';
import { ScratchStore } from '../../../../shared/read-store/embedded/scratch-store.sqlite.ts';
import { FIRST_ONLY } from '../../../../shared/read-store/versions/stored-versions.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { inSimulatedTime } from '../../../../shared/testing/simulation/simulated-globals.ts';
import { TestClock, testFoundation, type TestFoundation } from '../../../../shared/testing/test-foundation.ts';
import { idOf, registered, renamed } from '../../testing/some-users.ts';
import { projectionLoop } from '../projection-loop.ts';
import { storedVerifications } from './stored-verifications.ts';
import { verifyLoop } from './verify-loop.ts';

/** As long a loop waits before its first comparison. The clock stands still, so nothing is compared twice. */
const EVERY_MS = 50;
const WITHIN_MS = 30_000;
const WARN = 40;
const users = usersModel.collections.user.name;

describe('read models that are compared in the background', () => {
  let clock: TestClock;
  let foundation: TestFoundation;
  let loops: SupervisedLoop[];
  beforeEach(async () => {
    clock = new TestClock();
    foundation = await testFoundation({ clock });
    for (let at = 0; at < 40; at += 1)
      await foundation.eventStore.append(`user-${idOf(at)}`, -1, [registered(idOf(at))]);
    const personalData = personalDataOf(foundation);
    loops = readModels.map((model) => projectionLoop(model, { ...foundation, personalData }));
  });

  /** Runs a test once the users are projected, in simulated time. */
  const onceProjected = (test: () => Promise<void>): Promise<void> =>
    inSimulatedTime(async () => {
      for (const loop of loops) loop.start();
      const isProjected = async () =>
        (await foundation.readStore.position(users)) >= (await foundation.eventStore.head());
      await eventually(isProjected, WITHIN_MS, 'the users must be projected');
      try {
        await test();
      } finally {
        await Promise.all(loops.map((loop) => loop.stop()));
      }
    });

  const begin = (eventStore: EventStore = foundation.eventStore) => {
    const verifying = verifyLoop(
      { ...foundation, eventStore, makeScratch: (names) => new ScratchStore(names) },
      EVERY_MS,
    );
    loops.push(verifying.loop);
    verifying.loop.start();
    return verifying;
  };
  const compared = async () => [...(await storedVerifications(foundation.readStore)).keys()];
  const allCompared = () =>
    eventually(async () => (await compared()).length === readModels.length, WITHIN_MS, 'each must be compared');
  const warnings = () => foundation.logged.filter(({ level }) => Number(level) >= WARN);
  /** An event store that does something before each read of the events of these types. */
  const before = (type: string, does: () => Promise<unknown>): EventStore => {
    const { eventStore } = foundation;
    const readAll: EventStore['readAll'] = async (after, filter, limit) => {
      if (filter?.types.includes(type)) await does();
      return eventStore.readAll(after, filter, limit);
    };
    return Object.assign(Object.create(eventStore) as EventStore, { readAll });
  };
  const damage = async (): Promise<void> => {
    const { readStore } = foundation;
    const stored = await readStore.getMany(users, [idOf(7), idOf(20)]);
    const [changed, removed] = [stored.get(idOf(7)), stored.get(idOf(20))];
    if (!changed || !removed) throw new Error('both users are stored');
    const other = { ...changed, document: { ...changed.document, createdAt: '1970-01-01T00:00:00.000Z' } };
    await readStore.correct(users, [
      { id: changed.id, expected: changed.position, correct: other },
      { id: removed.id, expected: removed.position, correct: undefined },
      { id: 'zzz', expected: undefined, correct: { ...changed, id: 'zzz' } },
    ]);
  };
  /** An event store in which users change whenever a comparison reads their events. */
  const changing = (): EventStore => {
    let revision = 0;
    return before('ProfileUpdated', async () => {
      for (const at of [3, 8, 30])
        await foundation.eventStore.append(`user-${idOf(at)}`, revision, [
          renamed(idOf(at), `name ${String(revision)}`),
        ]);
      revision += 1;
    });
  };

  it('are named in the log with the documents that are wrong, missing or extra, and not repaired, while they change', () =>
    onceProjected(async () => {
      await damage();
      const { measured } = begin(changing());
      await allCompared();
      expect((await foundation.eventStore.read(`user-${idOf(3)}`)).length).toBeGreaterThan(2);
      const [warned] = warnings();
      expect(warnings()).toMatchObject([
        {
          readModel: users,
          differences: 3,
          msg: 'documents of users-v5 are not what their events make of them: "annals projections verify users --repair" rewrites them',
        },
      ]);
      const named = warned?.['documents'] as { id: string }[];
      expect(named.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toEqual([
        { collection: users, id: idOf(7), kind: 'changed' },
        { collection: users, id: idOf(20), kind: 'missing' },
        { collection: users, id: 'zzz', kind: 'extra' },
      ]);
      expect(await foundation.readStore.count(users, { id: 'zzz' })).toBe(1);
      const valuesOf = async (name: string, of = users) =>
        (await measured.find((one) => one.name === name)?.read())?.find(({ labels }) => labels['read_model'] === of)
          ?.value;
      expect([
        await valuesOf('annals_projection_differences'),
        await valuesOf('annals_projection_differences', 'sessions-v5'),
        await valuesOf('annals_projection_documents_compared_total'),
        await valuesOf('annals_projection_verified_timestamp_seconds'),
      ]).toEqual([3, 0, 40, clock.time / 1_000]);
    }));

  it('are compared again once it is time', () =>
    onceProjected(async () => {
      begin();
      await allCompared();
      await damage();
      clock.time += EVERY_MS;
      await eventually(() => warnings().length > 0, WITHIN_MS, 'the difference must be found');
      expect(warnings()).toMatchObject([{ readModel: users, differences: 3 }]);
    }));

  it('are compared by the next process from where the one before ended', () =>
    onceProjected(async () => {
      const reads: string[] = [];
      const note = before('UserRegistered', () => Promise.resolve(reads.push('users')));
      const first = begin(note);
      await eventually(async () => (await compared()).includes('sessions-v5'), WITHIN_MS, 'two must be compared');
      await first.loop.stop();
      const [done, readBefore] = [await storedVerifications(foundation.readStore), reads.length];
      clock.time += EVERY_MS - 1;
      begin(note);
      await allCompared();
      const all = await storedVerifications(foundation.readStore);
      for (const [name, verified] of done) expect(all.get(name)).toEqual(verified);
      expect([done.has(users), readBefore > 0]).toEqual([true, true]);
    }));

  it('do not wait for one whose comparison fails', () =>
    onceProjected(async () => {
      const failing = before('AppRegistered', () => Promise.reject(new Error('the event store is away')));
      const expected = readModels.filter(({ eventTypes }) => !eventTypes.includes('AppRegistered')).length;
      begin(failing);
      await eventually(async () => (await compared()).length === expected, WITHIN_MS, 'the others must be compared');
      expect(warnings()).toMatchObject([{ loop: 'verification', err: { message: 'the event store is away' } }]);
    }));

  it('say nothing of a version that is not read any more when its comparison ends', () =>
    onceProjected(async () => {
      await damage();
      let isSwitched = false;
      const { readStore } = foundation;
      const second = { number: 2, state: 'ready', rate: null } as const;
      const switching = before('UserRegistered', async () => {
        if (isSwitched) return;
        isSwitched = true;
        const versions = [...FIRST_ONLY.versions, second];
        await readStore.replaceVersions(usersModel.name, undefined, { current: 2, next: 3, versions });
      });
      begin(switching);
      await allCompared();
      expect(warnings()).toEqual([]);
      expect(await compared()).not.toContain(users);
      expect(await compared()).toContain('users-v5.2');
    }));

  it('do not delay a stop, also while the event store does not answer', () =>
    onceProjected(async () => {
      const asked = Promise.withResolvers<undefined>();
      const { loop } = begin(
        before('UserRegistered', () => {
          asked.resolve(undefined);
          return new Promise(() => undefined);
        }),
      );
      await asked.promise;
      await loop.stop();
      expect(await compared()).toEqual([]);
    }));
});
