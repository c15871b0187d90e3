import { MongoClient } from 'mongodb';

export const dropDatabases = async (url: string, names: readonly string[]): Promise<void> => {
  const client = await MongoClient.connect(url);
  try {
    for (const name of names) await client.db(name).dropDatabase();
  } finally {
    await client.close();
  }
};

/** Empties a database that processes continue to use. */
export const emptyDatabase = async (url: string, name: string): Promise<void> => {
  const client = await MongoClient.connect(url);
  try {
    for (const collection of await client.db(name).collections()) await collection.deleteMany({});
  } finally {
    await client.close();
  }
};
