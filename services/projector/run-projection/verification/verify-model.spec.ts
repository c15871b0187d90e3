import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import type { SupervisedLoop } from '../../../../shared/loops/supervised-loop.ts';
import { usersModel } from '../../../../shared/read-models/account/users.ts';
import { chainEventsModel } from '../../../../shared/read-models/event-catcher/chain-events.ts';
import type { ReadModel } from '../../../../shared/read-models/read-model.ts';
import { ScratchStore } from '../../../../shared/read-store/embedded/scratch-store.sqlite.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { testFoundation, type TestFoundation } from '../../../../shared/testing/test-foundation.ts';
import { idOf, registered, renamed } from '../../testing/some-users.ts';
import { projectionLoop } from '../projection-loop.ts';
import { verifyModel, type VerifiedModel } from './verify-model.ts';

const makeScratch = (names: readonly string[]) => new ScratchStore(names);
/** More than are compared in one range. */
const USERS = 1_203;
const users = usersModel.collections.user.name;
const contract = 'chain-2484-0x5fbdb2315678afecb367f032d93f642f64180aa3';
const observed = (LogIndex: number) =>
  anEvent({ type: 'ChainEventObserved', data: { ...(eventExamples.ChainEventObserved as JsonObject), LogIndex } });

describe('a read model that is compared with a fresh fold', () => {
  let foundation: TestFoundation;
  let loops: SupervisedLoop[];
  beforeEach(async () => {
    foundation = await testFoundation();
    loops = [usersModel, chainEventsModel].map((model) =>
      projectionLoop(model, { ...foundation, personalData: personalDataOf(foundation) }),
    );
    const { eventStore } = foundation;
    for (let at = 0; at < USERS; at += 1) await eventStore.append(`user-${idOf(at)}`, -1, [registered(idOf(at))]);
    await eventStore.append(contract, -1, [observed(0), observed(1)]);
    for (const loop of loops) loop.start();
    await caughtUp();
  });
  afterEach(() => Promise.all(loops.map((loop) => loop.stop())));

  const caughtUp = () =>
    eventually(
      async () => {
        const head = await foundation.eventStore.head();
        const positions = [users, chainEventsModel.name].map((name) => foundation.readStore.position(name));
        return (await Promise.all(positions)).every((position) => position >= head);
      },
      10_000,
      'everything must be projected',
    );
  const verify = (model: ReadModel = usersModel, repair = false): Promise<VerifiedModel> =>
    verifyModel(model, {
      ...foundation,
      ...{ personalData: personalDataOf(foundation), repair, signal: new AbortController().signal },
      ...{ report: () => undefined, makeScratch },
    });
  const stored = async (id: string) => {
    const found = (await foundation.readStore.getMany(users, [id])).get(id);
    if (!found) throw new Error(`${id} is not stored`);
    return found;
  };
  /** Makes a document that is wrong, one that is missing, and two that no event makes. */
  const damage = async (): Promise<void> => {
    const { readStore } = foundation;
    const [changed, removed] = [await stored(idOf(7)), await stored(idOf(600))];
    const other = { ...changed, document: { ...changed.document, createdAt: '1970-01-01T00:00:00.000Z' } };
    await readStore.correct(users, [
      { id: changed.id, expected: changed.position, correct: other },
      { id: removed.id, expected: removed.position, correct: undefined },
      { id: 'zzz', expected: undefined, correct: { ...changed, id: 'zzz' } },
      { id: 'from the future', expected: undefined, correct: { ...changed, id: 'from the future', position: 1e9 } },
    ]);
  };
  const damages = [
    { collection: users, id: idOf(7), kind: 'changed' },
    { collection: users, id: idOf(600), kind: 'missing' },
    { collection: users, id: 'from the future', kind: 'extra' },
    { collection: users, id: 'zzz', kind: 'extra' },
  ];
  const byId = (verified: VerifiedModel['differences']) =>
    verified.toSorted((one, other) => (one.id < other.id ? -1 : 1));

  /** Changes users until it is stopped. Returns when it has begun. */
  const keepChanging = async () => {
    const stop = new AbortController();
    const begun = Promise.withResolvers<undefined>();
    const work = async (): Promise<void> => {
      for (let revision = 0; ; revision += 1) {
        for (const at of [3, 8, 700]) {
          if (stop.signal.aborted) return;
          const event = renamed(idOf(at), `name ${String(revision)}`);
          await foundation.eventStore.append(`user-${idOf(at)}`, revision, [event]);
          await new Promise(setImmediate);
        }
        begun.resolve(undefined);
      }
    };
    const working = work();
    await begun.promise;
    return async () => {
      stop.abort();
      await working;
    };
  };

  it('has no difference, also while it changes and a user is erased', async () => {
    const stopped = await keepChanging();
    const verifying = verify();
    await foundation.eventStore.append(`user-${idOf(900)}`, 0, [
      anEvent({ type: 'UserErased', data: { ...eventExamples.UserErased, userId: idOf(900) } }),
    ]);
    expect(await verifying).toMatchObject({ name: 'users-v5', compared: USERS, differences: [], repaired: [] });
    await stopped();
    expect(await verify(chainEventsModel)).toMatchObject({ compared: 3, differences: [] });
  });

  it('names documents that are wrong, missing or extra, and repairs nothing', async () => {
    await damage();
    const { differences, repaired } = await verify();
    expect([byId(differences), repaired]).toEqual([byId(damages as typeof differences), []]);
    expect(byId((await verify()).differences)).toEqual(byId(differences));
  });

  it('is repaired in just these documents, while it changes', async () => {
    const untouched = await stored(idOf(9));
    const stopped = await keepChanging();
    await damage();
    const { differences, repaired } = await verify(usersModel, true);
    await stopped();
    expect([differences, byId(repaired)]).toEqual([[], byId(damages as typeof repaired)]);
    await caughtUp();
    expect(await verify()).toMatchObject({ compared: USERS, differences: [] });
    expect(await stored(idOf(9))).toEqual(untouched);
  });

  it('finds a difference in each of its collections', async () => {
    const { readStore } = foundation;
    const count = chainEventsModel.collections.count.name;
    const [found] = await readStore.find(count, {});
    if (!found) throw new Error('no count is stored');
    const wrong = { ...found, document: { ...found.document, canonical: 9 } };
    await readStore.correct(count, [{ id: found.id, expected: found.position, correct: wrong }]);
    expect((await verify(chainEventsModel)).differences).toEqual([
      { collection: count, id: found.id, kind: 'changed' },
    ]);
  });
});

describe('a read model that nothing keeps up to date', () => {
  it('is not compared, and the reason says what to do', async () => {
    const foundation = await testFoundation();
    await foundation.eventStore.append('user-1', -1, [registered('usr_1')]);
    const verifying = verifyModel(usersModel, {
      ...foundation,
      ...{ personalData: personalDataOf(foundation), repair: false, signal: new AbortController().signal },
      ...{ report: () => undefined, makeScratch },
      standsStillMaxMs: 50,
    });
    await expect(verifying).rejects.toThrow(
      'users-v5 is 1 behind the event store and does not move: start a projector, and see its log',
    );
  });
});
