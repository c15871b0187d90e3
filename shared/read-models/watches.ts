import { z } from 'zod';
import { eventFragment, watchEvents, type WatchEvent } from '../../schemas/events/watch-events.ts';
import { watchedContract } from '../../schemas/http/event-catcher-routes.ts';
import { toIso } from '../primitives/clock.ts';
import { readModel } from './read-model.ts';

const watchDocument = watchedContract.omit({ state: true }).extend({
  fragment: eventFragment,
  /** The apps that registered it, in the order of registration; never empty. */
  apps: z.array(z.string()),
  /** Position of each app's registration. */
  appPositions: z.record(z.string(), z.int()),
  /** Position of the first registration. */
  createdPosition: z.int(),
});
export type WatchDocument = z.infer<typeof watchDocument>;
/** A contract event that is watched, and the apps for which it is. */
export type Watch = Omit<WatchDocument, 'createdPosition' | 'appPositions'>;

/** Watched contract events, by watch id. */
export const watchesModel = readModel({
  name: 'watches-v2',
  collections: { watch: { name: 'watches-v2', document: watchDocument, indexes: [['chainId', 'contractAddress']] } },
  events: watchEvents,
  touches: ({ data }) => ({ watch: data.watchId }),
  evolve: ({ watch: known }, event) => {
    const watch = evolveWatch(known, event, event.time);
    const { position } = event;
    const registered = event.type === 'ContractRegistered' ? { [event.data.appId]: position } : {};
    const appPositions = { ...registered, ...known?.appPositions };
    return { watch: watch && { ...watch, appPositions, createdPosition: known?.createdPosition ?? position } };
  },
});

/**
 * Returns a watch after one more event of its stream, for the read model and for the decision of a registration.
 * @param watch `undefined` before the first event
 * @param time Unix milliseconds of the event
 */
export const evolveWatch = (watch: Watch | undefined, { type, data }: WatchEvent, time: number): Watch | undefined => {
  switch (type) {
    case 'ContractRegistered': {
      const { watchId: id, appId, ...registered } = data;
      if (!watch) return { id, ...registered, apps: [appId], createdAt: toIso(time) };
      return { ...watch, apps: [...new Set([...watch.apps, appId])] };
    }
    case 'WatchExtended':
      return watch && { ...watch, startBlock: data.startBlock };
  }
};
