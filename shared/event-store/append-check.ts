import type { EventToAppend } from './event-store.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Refuses what must not reach the client of EventStoreDB: an id that is no UUID or an empty type makes it throw where
 * nobody can catch, a `bigint` leaves the append unanswered for ever.
 * @throws TypeError: a mistake of the program
 */
export const checkAppend = (stream: string, events: readonly EventToAppend[]): void => {
  if (stream === '' || stream.startsWith('$')) throw new TypeError(`"${stream}" is no name for a stream of events`);
  for (const { id, type, data, metadata } of events) {
    if (!UUID.test(id)) throw new TypeError(`"${id}" of an event for ${stream} is no UUID`);
    if (type === '' || type.startsWith('$')) throw new TypeError(`"${type}" is no type of an event for ${stream}`);
    try {
      JSON.stringify([data, metadata]);
    } catch (cause) {
      throw new TypeError(`${type} for ${stream} is no JSON`, { cause });
    }
  }
};
