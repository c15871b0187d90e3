import { join } from 'node:path';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { messageBusContract } from './message-bus.contract.ts';
import { SqliteMessageBus } from './message-bus.sqlite.ts';

const folder = temporaryFolder();
messageBusContract('SQLite', (topicSettings) =>
  Promise.resolve(new SqliteMessageBus(join(folder, 'bus.db'), topicSettings)),
);
