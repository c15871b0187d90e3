import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import { overriding } from '../overriding.ts';

/** A store to which progress cannot be appended, as for a process that dies before it stores its progress. */
export const withoutProgress = (store: EventStore): EventStore =>
  overriding(store, {
    append: (stream, revision, events) =>
      events[0]?.type === 'ChainAdvanced'
        ? Promise.reject(new Error('the process is dead'))
        : store.append(stream, revision, events),
  });

/**
 * A store on which every append after the first `appends` ones fails, as for a process that dies. The first append that
 * fails is stored all the same, unless `isLost`.
 */
export const dyingAfter = (
  store: EventStore,
  appends: number,
  isLost: boolean,
): { store: EventStore; killed: () => boolean } => {
  let left = appends;
  const append: EventStore['append'] = async (stream, revision, events) => {
    if (left === 0 && !isLost) await store.append(stream, revision, events);
    left -= 1;
    if (left < 0) throw new Error('the process is dead');
    return store.append(stream, revision, events);
  };
  return { store: overriding(store, { append }), killed: () => left < 0 };
};

interface Append {
  stream: string;
  type: string;
}

/**
 * A store from which a process is cut off: the first append that is chosen, and all after it, are held back until
 * `release`.
 */
export const cutOffAt = (
  store: EventStore,
  isFirst: (append: Append) => boolean,
): { store: EventStore; isCutOff: () => boolean; release: () => void } => {
  const { promise: reachable, resolve } = Promise.withResolvers<undefined>();
  let isCutOff = false;
  const append: EventStore['append'] = async (stream, revision, events) => {
    isCutOff ||= isFirst({ stream, type: events[0]?.type ?? '' });
    if (isCutOff) await reachable;
    return store.append(stream, revision, events);
  };
  return {
    store: overriding(store, { append }),
    isCutOff: () => isCutOff,
    release: () => {
      resolve(undefined);
    },
  };
};
