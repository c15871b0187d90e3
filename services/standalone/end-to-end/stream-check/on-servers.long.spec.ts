import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dropDatabases } from '../../../../shared/testing/engines/drop-databases.mongo.ts';
import { whereServer } from '../../../../shared/testing/engines/servers.ts';
import { kafkaForTests } from '../../../../shared/testing/engines/test-bus.kafka.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { runStreamCheck } from './run-stream-check.ts';

/** All cases, one after the other, on a machine that does other work too. */
const ALL_WITHIN_MS = 900_000;

whereServer('KAFKA_BROKERS', (KAFKA_BROKERS) => {
  whereServer('MONGO_URL', (MONGO_URL) => {
    const dataFolder = join(temporaryFolder(), 'data');
    const { TOPIC_PREFIX } = kafkaForTests(KAFKA_BROKERS);
    const MONGO_DATABASE = `check-${randomUUID().slice(0, 8)}`;

    describe('annals stream-check, on Kafka and MongoDB', () => {
      let program: RunningProgram;
      beforeAll(async () => {
        program = await RunningProgram.start(dataFolder, { KAFKA_BROKERS, TOPIC_PREFIX, MONGO_URL, MONGO_DATABASE });
      });
      // Two hooks, so that the databases are dropped even if the program did not start.
      afterAll(() => dropDatabases(MONGO_URL, [MONGO_DATABASE]));
      afterAll(() => program.stop());

      it(
        'finds every promise kept',
        async () => {
          const checked = await runStreamCheck(dataFolder, program.development.streamUrl);
          expect(checked.failures).toEqual([]);
          expect(checked).toMatchObject({ code: 0, ids: { skipped: ['pages/public-chain'] } });
        },
        ALL_WITHIN_MS,
      );
    });
  });
});
