import type { EventStoreDBClient } from '@eventstore/db-client';

/** Ends all calls of a client and closes its connection, which would otherwise stay open for half an hour. */
export const closeClient = async (client: EventStoreDBClient): Promise<void> => {
  await client.dispose();
  void closeConnection(client);
};

/** Not awaited by the caller: a client without a connection looks for a server first. */
const closeConnection = async (client: EventStoreDBClient): Promise<void> => {
  // eslint-disable-next-line @typescript-eslint/dot-notation -- protected; the client offers no other way
  const channel = await client['getChannel']().catch(() => undefined);
  channel?.close();
};
