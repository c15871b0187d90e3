import type { EventStoreDBClient } from '@eventstore/db-client';

/** Ends all calls of a client and closes its connection, which would otherwise stay open for half an hour. */
export const closeClient = async (client: EventStoreDBClient): Promise<void> => {
  await client.dispose();
  void closeConnection(client);
};

/** The caller does not wait for this: a client without a connection first looks for a server. */
const closeConnection = async (client: EventStoreDBClient): Promise<void> => {
  // eslint-disable-next-line @typescript-eslint/dot-notation -- protected; the client offers no other way
  const channel = await client['getChannel']().catch(() => undefined);
  channel?.close();
};
