import kafkajs, { type Admin, type GroupDescription } from 'kafkajs';

export const asAdmin = async <Answer>(brokers: string[], ask: (admin: Admin) => Promise<Answer>): Promise<Answer> => {
  const admin = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    return await ask(admin);
  } finally {
    await admin.disconnect();
  }
};

/** Describes all consumer groups whose ids begin with the prefix. */
export const groupsOf = async (admin: Admin, prefix: string): Promise<GroupDescription[]> => {
  const { groups } = await admin.listGroups();
  const ids = groups.map(({ groupId }) => groupId).filter((id) => id.startsWith(prefix));
  return ids.length === 0 ? [] : (await admin.describeGroups(ids)).groups;
};

/** Deletes all topics whose names begin with the prefix. */
export const deleteTopics = (brokers: string[], prefix: string): Promise<void> =>
  asAdmin(brokers, async (admin) => {
    const topics = (await admin.listTopics()).filter((name) => name.startsWith(prefix));
    if (topics.length > 0) await admin.deleteTopics({ topics });
  });
