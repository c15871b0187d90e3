import { MongoClient } from 'mongodb';

export const dropDatabases = async (url: string, names: readonly string[]): Promise<void> => {
  const client = await MongoClient.connect(url);
  try {
    for (const name of names) await client.db(name).dropDatabase();
  } finally {
    await client.close();
  }
};
