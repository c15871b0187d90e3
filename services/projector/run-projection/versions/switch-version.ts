import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import type { ReadModel } from '../../../../shared/read-models/read-model.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { nameInVersion, type StoredVersions } from '../../../../shared/read-store/versions/stored-versions.ts';
import {
  collectionsInVersion,
  FOLLOWS_WITHIN_MS,
} from '../../../../shared/read-store/versions/versioned-read-store.ts';
import { changeVersions, nameOf, versionNamed, versionsOf, withVersion } from './change-versions.ts';
import { formerVersion } from './list-versions.ts';
import { versionName } from './version-names.ts';

const POLL_MS = 50;
const CATCHES_UP_WITHIN_MS = 10_000;
/** Longer than a request may take, and a projector needs to see that the version is dropped. */
export const QUERIES_END_WITHIN_MS = 16_000;

interface Stores {
  eventStore: Pick<EventStore, 'head'>;
  /** The store in which each version has its own names. */
  readStore: ReadStore;
  signal: AbortSignal;
}

/**
 * Makes another version the one that queries read: this one, or the newest of the others that are ready. Both are kept
 * up to date before and after. Returns when every process reads it.
 * @throws CannotStart
 */
export const switchVersion = async (
  model: ReadModel,
  to: string | undefined,
  { eventStore, readStore, signal }: Stores,
): Promise<{ version: string; from: string }> => {
  const known = await versionsOf(model, readStore);
  const { number } = to === undefined ? newestOther(model, known) : versionNamed(model, known, to);
  await untilCaughtUp(nameInVersion(model.name, number), { eventStore, readStore, signal });
  let from = known.current;
  await changeVersions(model, readStore, (now) => {
    const wanted = versionNamed(model, now, nameOf(model, number));
    if (wanted.state !== 'ready')
      throw new CannotStart(`${nameOf(model, number)} is not complete: run "annals projections rebuild" until it is`);
    from = now.current;
    return now.current === number ? now : { ...now, current: number };
  });
  await pause(2 * FOLLOWS_WITHIN_MS, signal);
  return { version: nameOf(model, number), from: nameOf(model, from) };
};

const newestOther = (model: ReadModel, known: StoredVersions) => {
  const found = known.versions.findLast(({ number, state }) => state === 'ready' && number !== known.current);
  if (found) return found;
  const { name } = versionName(model.name);
  throw new CannotStart(`${name} has no other complete version: run "annals projections rebuild ${name}" first`);
};

const untilCaughtUp = async (projection: string, { eventStore, readStore, signal }: Stores): Promise<void> => {
  const [head, until] = [await eventStore.head(), performance.now() + CATCHES_UP_WITHIN_MS];
  while ((await readStore.position(projection)) < head) {
    signal.throwIfAborted();
    if (performance.now() > until)
      throw new CannotStart(`${projection} is behind the event store: see whether a projector keeps it up to date`);
    await pause(POLL_MS, signal);
  }
};

/**
 * Removes a version that queries do not read, also one of an earlier release, once no query that began to read it can go
 * on. Repeated, it completes what was interrupted.
 * @throws CannotStart
 */
export const dropVersion = async (
  model: ReadModel,
  version: string,
  {
    readStore,
    signal,
    queriesEndWithinMs = QUERIES_END_WITHIN_MS,
  }: Omit<Stores, 'eventStore'> & { queriesEndWithinMs?: number },
): Promise<void> => {
  const former = await formerVersion(model, version, readStore);
  if (former) {
    await readStore.remove(former.checkpoint, former.collections);
    return;
  }
  const { number } = versionNamed(model, await versionsOf(model, readStore), version);
  await changeVersions(model, readStore, (known) => {
    if (known.current === number)
      throw new CannotStart(`${version} is the version that queries read: switch to another one first`);
    return withVersion(known, number, { state: 'dropping' });
  });
  await pause(queriesEndWithinMs, signal);
  signal.throwIfAborted();
  const names = collectionsInVersion(model, number).map(({ name }) => name);
  await readStore.remove(nameInVersion(model.name, number), names);
  await changeVersions(model, readStore, (known) => ({
    ...known,
    versions: known.versions.filter((one) => one.number !== number),
  }));
};
