import { pino } from 'pino';
import { whereServer } from '../testing/servers.ts';
import { readStoreContract } from './read-store.contract.ts';
import { MongoReadStore } from './read-store.mongo.ts';

const logger = pino({ level: 'silent' });

whereServer('MONGO_URL', (MONGO_URL) => {
  const MONGO_DATABASE = `annals-test-${String(process.pid)}`;
  const open = () => MongoReadStore.connect({ MONGO_URL, MONGO_DATABASE, NODE_ENV: 'test', logger });
  readStoreContract('MongoDB', open);
});
