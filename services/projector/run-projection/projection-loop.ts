import { isDeepStrictEqual } from 'node:util';
import type { WorkerFoundation } from '../../../shared/host/foundation.ts';
import { leasedLoop } from '../../../shared/loops/leased-loop.ts';
import { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import type { ReadModel } from '../../../shared/read-models/read-model.ts';
import {
  FIRST_ONLY,
  type StoredVersion,
  type StoredVersions,
} from '../../../shared/read-store/versions/stored-versions.ts';
import { storedUnder } from '../../../shared/read-store/versions/versioned-read-store.ts';
import { EVENTS_PER_TICK, followErasures, followEvents, followSlowly, type FollowOptions } from './follow-events.ts';
import { modelInVersion } from './versions/version-names.ts';

/** Interval at which a change of the operator is noticed. */
const VERSIONS_POLL_MS = 1_000;

/** The lease of the process that keeps a read model up to date. */
export const leaseOf = (name: string): string => `projection ${name}`;

/**
 * Keeps every version of one read model up to date with the event store, each from its checkpoint on, in one process at
 * a time. If two processes work at once, because one was paused while the other took its lease, they do the same work
 * twice without harm: both make the same document for a position, and a document is only replaced by a newer one.
 */
export const projectionLoop = (
  model: ReadModel,
  { eventStore, readStore, personalData, logger }: FollowOptions & Pick<WorkerFoundation, 'logger'>,
): SupervisedLoop => {
  const options = { eventStore, readStore: storedUnder(readStore), personalData };
  const read = async () => (await options.readStore.versions()).get(model.name) ?? FIRST_ONLY;
  return leasedLoop({
    name: leaseOf(model.name),
    leases: readStore,
    logger,
    run: async (signal, reportRunning) => {
      while (!signal.aborted) {
        const known = await read();
        const beside = known.versions
          .filter(({ number, state }) => number !== known.current && state !== 'dropping')
          .map((version) => besideLoop(model, version, { ...options, logger }));
        for (const loop of beside) loop.start();
        try {
          await untilChanged(known, read, signal, async (unchanged) => {
            const current = await modelInVersion(model, known.current, options.readStore);
            await followEvents(current, options, unchanged, reportRunning);
          });
        } finally {
          await Promise.all(beside.map((loop) => loop.stop()));
        }
      }
    },
  });
};

/** A version that queries do not read. When it fails it is tried again, and the one that they read goes on. */
const besideLoop = (
  model: ReadModel,
  { number, state, rate }: StoredVersion,
  { logger, ...options }: FollowOptions & Pick<WorkerFoundation, 'logger'>,
): SupervisedLoop =>
  new SupervisedLoop(`${leaseOf(model.name)} version ${String(number)}`, logger, async (signal, report) => {
    const version = await modelInVersion(model, number, options.readStore);
    const reportRunning = () => {
      report('running');
    };
    reportRunning();
    if (state === 'paused') await followErasures(version, options, signal);
    else if (rate !== null) await followSlowly(version, options, signal, rate);
    else await followEvents(version, options, signal, reportRunning, EVENTS_PER_TICK);
  });

/** Runs work until the signal aborts or the versions are others. Fails as the work does. */
const untilChanged = async (
  known: StoredVersions,
  read: () => Promise<StoredVersions>,
  signal: AbortSignal,
  work: (unchanged: AbortSignal) => Promise<void>,
): Promise<void> => {
  const ending = new AbortController();
  const unchanged = AbortSignal.any([signal, ending.signal]);
  const end = (): void => {
    ending.abort();
  };
  const watch = async (): Promise<void> => {
    while (!unchanged.aborted) {
      await pause(VERSIONS_POLL_MS, unchanged);
      if (!isDeepStrictEqual(await read(), known)) end();
    }
  };
  // Each ends the other, also when it fails.
  const outcomes = await Promise.allSettled([work(unchanged).finally(end), watch().finally(end)]);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected' && outcome.reason !== unchanged.reason);
  if (failed?.status === 'rejected') throw failed.reason;
};
