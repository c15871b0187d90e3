import type { EventStore } from '../event-store/event-store.ts';

/**
 * Does some work while the appends to these streams fail and store nothing, as if the process had crashed there.
 * @param prefix how the names of the streams begin
 */
export const withoutAppendsTo = async <Result>(
  prefix: string,
  { eventStore }: { eventStore: EventStore },
  work: () => Promise<Result>,
  error = new Error('planned crash'),
): Promise<Result> => {
  const append = eventStore.append.bind(eventStore);
  eventStore.append = (stream, ...rest) =>
    stream.startsWith(prefix) ? Promise.reject(error) : append(stream, ...rest);
  try {
    return await work();
  } finally {
    eventStore.append = append;
  }
};
