import { beforeEach, describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import type { SupervisedLoop } from '../../../../shared/loops/supervised-loop.ts';
import { usersModel } from '../../../../shared/read-models/account/users.ts';
import { readModels } from '../../../../shared/read-models/catalogue.ts';
import { ScratchStore } from '../../../../shared/read-store/embedded/scratch-store.sqlite.ts';
import { VersionedReadStore } from '../../../../shared/read-store/versions/versioned-read-store.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { inSimulatedTime } from '../../../../shared/testing/simulation/simulated-globals.ts';
import { testFoundation, type TestFoundation } from '../../../../shared/testing/test-foundation.ts';
import { formerCollectionsLoop } from '../../former-collections/former-collections-loop.ts';
import { idOf, registered, renamed } from '../../testing/some-users.ts';
import { projectionLoop } from '../projection-loop.ts';
import { listVersions } from './list-versions.ts';
import { rebuild } from './rebuild.ts';
import { dropVersion, switchVersion } from './switch-version.ts';

const USERS = 2_000;
const [first, second] = ['users-v5', 'users-v5.2'];

describe('a read model that is rebuilt', () => {
  let foundation: TestFoundation;
  /** As services see it. */
  let readStore: VersionedReadStore;
  let loops: SupervisedLoop[];
  beforeEach(async () => {
    foundation = await testFoundation();
    readStore = new VersionedReadStore(foundation.readStore, readModels);
    for (let at = 0; at < USERS; at += 1)
      await foundation.eventStore.append(`user-${idOf(at)}`, -1, [registered(idOf(at))]);
    loops = [];
  });

  /** Runs a test beside a projector that has reached the head, in simulated time. */
  const besideProjector = (test: () => Promise<void>): Promise<void> =>
    inSimulatedTime(async () => {
      startProjector();
      await reaches(first);
      try {
        await test();
      } finally {
        await stopProjector();
      }
    });
  function startProjector(): void {
    const options = { ...foundation, readStore, personalData: personalDataOf(foundation) };
    loops = [projectionLoop(usersModel, options), formerCollectionsLoop(options).loop];
    for (const loop of loops) loop.start();
  }
  async function stopProjector(): Promise<void> {
    await Promise.all(loops.map((loop) => loop.stop()));
  }
  const reaches = async (projection: string) => {
    const head = await foundation.eventStore.head();
    const isThere = async () => (await foundation.readStore.position(projection)) >= head;
    await eventually(isThere, 15_000, `${projection} must reach the head`);
  };
  const run = ({
    rate = null as number | null,
    signal = new AbortController().signal,
    report = () => undefined,
  } = {}) =>
    rebuild(usersModel, {
      ...{ eventStore: foundation.eventStore, readStore: foundation.readStore, rate, signal, report },
      personalData: personalDataOf(foundation),
      makeScratch: (names) => new ScratchStore(names),
    });
  const stores = () => ({
    ...{ eventStore: foundation.eventStore, readStore: foundation.readStore, signal: new AbortController().signal },
    queriesEndWithinMs: 0,
  });
  /** Begins to fill a version, and interrupts that when some events are folded. */
  const pauseHalfway = async () => {
    const interruption = new AbortController();
    const paused = run({ rate: 200, signal: interruption.signal });
    await eventually(
      async () => (await foundation.readStore.position(second)) > 0,
      10_000,
      'the new version must be begun',
    );
    interruption.abort(new Error('interrupted'));
    expect(await paused).toEqual({ version: 'v5.2', state: 'paused', verified: null });
  };
  const usernames = async (collection: string, id: string) =>
    (await foundation.readStore.getMany(collection, [id])).get(id)?.document['username'];

  it('is filled beside the one that is read, is switched to and back, and dropped', () =>
    besideProjector(async () => {
      expect(await run()).toMatchObject({ version: 'v5.2', state: 'ready', verified: { compared: USERS } });
      const wrong = (await foundation.readStore.getMany(first, [idOf(1)])).get(idOf(1));
      if (!wrong) throw new Error('the user is not projected');
      const correct = { ...wrong, document: { ...wrong.document, username: 'only in the first' } };
      await foundation.readStore.correct(first, [{ id: wrong.id, expected: wrong.position, correct }]);
      const read = async () => (await readStore.getMany(first, [idOf(1)])).get(idOf(1))?.document['username'];
      expect(await read()).toBe('only in the first');

      expect(await switchVersion(usersModel, undefined, stores())).toEqual({ version: 'v5.2', from: 'v5' });
      expect(await read()).toBe(null);
      await foundation.eventStore.append(`user-${idOf(2)}`, 0, [renamed(idOf(2), 'alice')]);
      await Promise.all([reaches(first), reaches(second)]);
      expect([await usernames(first, idOf(2)), await usernames(second, idOf(2))]).toEqual(['alice', 'alice']);
      expect(await readStore.position(first)).toBe(await foundation.eventStore.head());

      expect(await switchVersion(usersModel, undefined, stores())).toEqual({ version: 'v5', from: 'v5.2' });
      expect(await read()).toBe('only in the first');
      await expect(dropVersion(usersModel, 'v5', stores())).rejects.toThrow('v5 is the version that queries read');
      await switchVersion(usersModel, 'v5.2', stores());
      await dropVersion(usersModel, 'v5', stores());
      expect(await read()).toBe(null);
      expect((await listVersions({ ...foundation, readStore })).filter(({ name }) => name === 'users')).toMatchObject([
        { version: 'v5.2', current: true, documents: USERS },
      ]);
      await expect(switchVersion(usersModel, 'v5', stores())).rejects.toThrow('users has no version v5');
      await expect(switchVersion(usersModel, undefined, stores())).rejects.toThrow('no other complete version');
    }));

  it('is paused by an interruption, and goes on from there, also after the projector was replaced', () =>
    besideProjector(async () => {
      await pauseHalfway();
      const versions = async () => (await foundation.readStore.versions()).get('users-v5')?.versions;
      expect(await versions()).toMatchObject([
        { number: 1, state: 'ready' },
        { number: 2, state: 'paused' },
      ]);
      await expect(switchVersion(usersModel, 'v5.2', stores())).rejects.toThrow();
      await stopProjector();
      const reached = await foundation.readStore.position(second);
      expect(reached).toBeLessThan(await foundation.eventStore.head());
      startProjector();
      const positions: number[] = [];
      const report = (progress?: { folded?: number }) => {
        if (progress?.folded !== undefined && progress.folded >= 0) positions.push(progress.folded);
      };
      expect(await run({ report: report as () => undefined })).toMatchObject({ version: 'v5.2', state: 'ready' });
      expect(Math.min(...positions)).toBeGreaterThanOrEqual(reached);
    }));

  it('loses what it has of a person who is erased while it is paused', () =>
    besideProjector(async () => {
      await foundation.eventStore.append(`user-${idOf(3)}`, 0, [renamed(idOf(3), 'bob')]);
      await pauseHalfway();
      const erased = await foundation.eventStore.append(`user-${idOf(0)}`, 0, [
        anEvent({ type: 'UserErased', data: { ...eventExamples.UserErased, userId: idOf(0) } }),
      ]);
      const erasedAt = async () =>
        (await foundation.readStore.getMany(second, [idOf(0)])).get(idOf(0))?.document['erasedAt'];
      await eventually(async () => typeof (await erasedAt()) === 'string', 15_000, 'the erasure must reach it');
      expect(await foundation.readStore.position(second)).toBe(erased.position);
      await foundation.eventStore.append('user-later', -1, [registered('later')]);
      await reaches(first);
      expect(await foundation.readStore.position(second)).toBe(erased.position);
      expect(await run()).toMatchObject({ state: 'ready', verified: { differences: [], repaired: [] } });
    }));

  it('needs a projector, and says so', () =>
    besideProjector(async () => {
      await stopProjector();
      const rebuilding = rebuild(usersModel, {
        ...{ eventStore: foundation.eventStore, readStore: foundation.readStore, rate: null, standsStillMaxMs: 50 },
        ...{ signal: new AbortController().signal, report: () => undefined },
        personalData: personalDataOf(foundation),
        makeScratch: (names) => new ScratchStore(names),
      });
      await expect(rebuilding).rejects.toThrow('nothing fills users-v5.2, which is at 0 of 2000: start a projector');
    }));
});
