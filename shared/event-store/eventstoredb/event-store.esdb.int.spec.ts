import { afterAll, beforeAll, describe } from '@jest/globals';
import { pino } from 'pino';
import { EventStoreServer } from '../../testing/event-store-server/event-store-server.esdb.ts';
import { eventStoreContract } from '../event-store.contract.ts';
import { EsdbEventStore } from './event-store.esdb.ts';

describe('the server of EVENTSTORE_URL, or the stand-in', () => {
  let standIn: EventStoreServer | undefined;
  let url = process.env['EVENTSTORE_URL'] ?? '';
  beforeAll(async () => {
    if (url) return;
    standIn = await EventStoreServer.start();
    url = standIn.url;
  });
  afterAll(() => standIn?.close());

  eventStoreContract('EventStoreDB', () =>
    EsdbEventStore.connect({ settings: { EVENTSTORE_URL: url }, logger: pino({ level: 'silent' }) }),
  );
});
