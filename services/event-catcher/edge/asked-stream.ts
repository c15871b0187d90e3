import { isWatchId, watchStream } from '../domain/watch.ts';

/** Returns the stream of a watch that a request names; of none, if it cannot be an id. */
export const askedStream = (watchId: string): string => watchStream(isWatchId(watchId) ? watchId : 'unknown');
