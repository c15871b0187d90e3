import type { EventStoreDBClient } from '@eventstore/db-client';

/** Ends all calls of a client, and its connection: left to itself, that stays open for half an hour. */
export const closeClient = async (client: EventStoreDBClient): Promise<void> => {
  await client.dispose();
  void closeConnection(client);
};

/** Not waited for: a client that has no connection looks for a server first. */
const closeConnection = async (client: EventStoreDBClient): Promise<void> => {
  // eslint-disable-next-line @typescript-eslint/dot-notation -- protected; the client offers no other way
  const channel = await client['getChannel']().catch(() => undefined);
  channel?.close();
};
