import { afterAll, beforeAll } from '@jest/globals';
import { pino } from 'pino';
import { EventStoreServer } from '../testing/event-store-server/event-store-server.esdb.ts';
import { eventStoreContract } from './event-store.contract.ts';
import { EsdbEventStore } from './event-store.esdb.ts';

const logger = pino({ level: 'silent' });
let server: EventStoreServer;
beforeAll(async () => {
  server = await EventStoreServer.start();
});
afterAll(() => server.close());

eventStoreContract('EventStoreDB', () => EsdbEventStore.connect({ settings: { EVENTSTORE_URL: server.url }, logger }));
