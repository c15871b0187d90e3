import { z } from 'zod';
import { eventFragment, pauseReason, watchEvents, type WatchEvent } from '../../schemas/events/watch-events.ts';
import { watchedContract } from '../../schemas/http/event-catcher-routes.ts';
import { toIso } from '../primitives/clock.ts';
import { readModel } from './read-model.ts';

const watchDocument = watchedContract.omit({ state: true }).extend({
  fragment: eventFragment,
  /** The apps that claim it, in the order of registration. */
  apps: z.array(z.string()),
  /** Whether no app claims it any more. It is found only by those who know its id, until an app registers it again. */
  isRemoved: z.boolean(),
  paused: pauseReason.nullable(),
  /** Whether its backfill has no bounds: the operator resumed it. */
  isUnbounded: z.boolean(),
  /** Position of each claiming app's registration. */
  appPositions: z.record(z.string(), z.int()),
  /** Position of the first registration. */
  createdPosition: z.int(),
  /** Position from which on it is read: of the first registration, or where it was resumed or registered again. */
  readSince: z.int(),
});
export type WatchDocument = z.infer<typeof watchDocument>;
/** A contract event that is watched, and the apps for which it is. */
export type Watch = Omit<WatchDocument, 'createdPosition' | 'appPositions' | 'readSince'>;

/** Whether nothing more is read for it. */
export const isStopped = ({ isRemoved, paused }: Pick<Watch, 'isRemoved' | 'paused'>): boolean =>
  isRemoved || paused !== null;

/** Watched contract events, by watch id. */
export const watchesModel = readModel({
  name: 'watches-v4',
  collections: {
    watch: { name: 'watches-v4', document: watchDocument, indexes: [['chainId', 'contractAddress'], ['isRemoved']] },
  },
  events: watchEvents,
  touches: ({ data }) => ({ watch: data.watchId }),
  evolve: ({ watch: known }, event) => {
    const watch = evolveWatch(known, event, event.time);
    if (!watch) return { watch };
    const { position } = event;
    const registered = event.type === 'ContractRegistered' ? { [event.data.appId]: position } : {};
    const positions = Object.entries({ ...registered, ...known?.appPositions });
    const isStarted = known !== undefined && isStopped(known) && !isStopped(watch);
    return {
      watch: {
        ...watch,
        appPositions: Object.fromEntries(positions.filter(([appId]) => watch.apps.includes(appId))),
        createdPosition: known?.createdPosition ?? position,
        readSince: known && !isStarted ? known.readSince : position,
      },
    };
  },
});

/**
 * Returns a watch after one more event of its stream, for the read model and for the decision of a registration.
 * @param watch `undefined` before the first event
 * @param time Unix milliseconds of the event
 */
export const evolveWatch = (watch: Watch | undefined, event: WatchEvent, time: number): Watch | undefined => {
  if (event.type === 'ContractRegistered') {
    const { watchId: id, appId, headBlock: _headBlock, proxy, ...registered } = event.data;
    const unstopped = { isRemoved: false, paused: null, isUnbounded: false };
    if (!watch) return { id, ...registered, proxy: proxy ?? null, apps: [appId], ...unstopped, createdAt: toIso(time) };
    const newest = proxy === undefined ? watch.proxy : proxy;
    return { ...watch, proxy: newest, apps: [...new Set([...watch.apps, appId])], isRemoved: false };
  }
  if (!watch) return undefined;
  const { type, data } = event;
  switch (type) {
    case 'WatchExtended':
      return { ...watch, startBlock: data.startBlock };
    case 'WatchPaused':
      return { ...watch, paused: data.reason };
    case 'WatchResumed':
      return { ...watch, paused: null, isUnbounded: watch.isUnbounded || data.isUnbounded };
    case 'WatchReplayRequested':
      return watch;
    case 'WatchRemoved': {
      const apps = watch.apps.filter((app) => app !== data.appId);
      return { ...watch, apps, isRemoved: apps.length === 0 };
    }
  }
};
