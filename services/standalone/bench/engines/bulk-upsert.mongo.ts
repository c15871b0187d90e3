import { MongoClient } from 'mongodb';

const DOCUMENTS_PER_WRITE = 1_000;

/** Writes the same documents as plain upserts with the driver alone, to compare with the projection. */
export const bulkUpsert = async (
  url: string,
  database: string,
  documents: readonly { id: string; position: number; document: object }[],
): Promise<void> => {
  const client = new MongoClient(url);
  try {
    const collection = client.db(database).collection<{ _id: string }>('upserts');
    await collection.createIndex(
      { 'document.ContractAddress': 1, 'document.observedPosition': 1, 'document.BlockNumber': 1 },
      {},
      {},
    );
    for (let from = 0; from < documents.length; from += DOCUMENTS_PER_WRITE) {
      await collection.bulkWrite(
        documents.slice(from, from + DOCUMENTS_PER_WRITE).map(({ id, position, document }) => ({
          updateOne: { filter: { _id: id }, update: { $set: { position, document } }, upsert: true },
        })),
        { ordered: false, writeConcern: { w: 'majority' } },
      );
    }
  } finally {
    await client.close();
  }
};
