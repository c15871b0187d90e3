import { MongoClient } from 'mongodb';

/** Returns the documents of a server's databases, by collection, as one text each. */
export const textsInDatabases = async (url: string, names: readonly string[]): Promise<[string, string][]> => {
  const client = await MongoClient.connect(url);
  try {
    const collections = (await Promise.all(names.map((name) => client.db(name).collections()))).flat();
    return await Promise.all(
      collections.map(async (collection): Promise<[string, string]> => {
        return [collection.namespace, JSON.stringify(await collection.find({}).toArray())];
      }),
    );
  } finally {
    await client.close();
  }
};
