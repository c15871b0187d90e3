import { afterAll, beforeAll, describe } from '@jest/globals';
import { EventStoreServer } from '../../testing/event-store-server/event-store-server.esdb.ts';
import { connectForTests } from '../../testing/event-store-server/test-store.esdb.ts';
import { eventStoreContract } from '../event-store.contract.ts';

/** Long enough for a few requests to a real server, whose clock the spec waits for. */
const KEPT_SECONDS = 20;

describe('the server of EVENTSTORE_URL, or the stand-in', () => {
  let standIn: EventStoreServer | undefined;
  let url = process.env['EVENTSTORE_URL'] ?? '';
  beforeAll(async () => {
    if (url) return;
    standIn = await EventStoreServer.start();
    url = standIn.url;
  });
  afterAll(() => standIn?.close());

  eventStoreContract('EventStoreDB', () => connectForTests(url), {
    seconds: url ? KEPT_SECONDS : 3_600,
    pass: () => {
      if (standIn) standIn.faults.clockAheadMs += 3_600_001;
    },
  });
});
