import type { EventToAppend } from '../event-store.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Refuses input that the EventStoreDB client cannot handle. The client throws uncatchably for an id that is not a UUID
 * or an empty type, and never answers an append that contains a `bigint`.
 * @throws TypeError, because such an append is a programming error
 */
export const checkAppend = (stream: string, events: readonly EventToAppend[]): void => {
  if (stream === '' || stream.startsWith('$')) throw new TypeError(`"${stream}" is not a valid stream name`);
  for (const { id, type, data, metadata } of events) {
    if (!UUID.test(id)) throw new TypeError(`"${id}" of an event for ${stream} is not a UUID`);
    if (type === '' || type.startsWith('$'))
      throw new TypeError(`"${type}" is not a valid event type (stream ${stream})`);
    try {
      JSON.stringify([data, metadata]);
    } catch (cause) {
      throw new TypeError(`${type} for ${stream} cannot be written as JSON`, { cause });
    }
  }
};
