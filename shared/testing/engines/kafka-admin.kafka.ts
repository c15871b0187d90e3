import kafkajs, { type Admin } from 'kafkajs';

export const asAdmin = async <Answer>(brokers: string[], ask: (admin: Admin) => Promise<Answer>): Promise<Answer> => {
  const admin = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    return await ask(admin);
  } finally {
    await admin.disconnect();
  }
};

/** Deletes all topics whose names begin with the prefix. */
export const deleteTopics = (brokers: string[], prefix: string): Promise<void> =>
  asAdmin(brokers, async (admin) => {
    const topics = (await admin.listTopics()).filter((name) => name.startsWith(prefix));
    if (topics.length > 0) await admin.deleteTopics({ topics });
  });
