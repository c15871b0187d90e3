import { randomUUID } from 'node:crypto';
import { describe } from '@jest/globals';
import { closeEngines, openEngines } from '../../shared/host/engines/engines.ts';
import { dropDatabases } from '../../shared/testing/engines/drop-databases.mongo.ts';
import { EventStoreServer } from '../../shared/testing/event-store-server/event-store-server.esdb.ts';
import { ServiceProcess } from '../../shared/testing/processes/running-processes.ts';
import { whereServer } from '../../shared/testing/engines/servers.ts';
import { sized } from '../../shared/testing/sized.ts';
import { temporaryFolder } from '../../shared/testing/temporary-folder.ts';
import { testFoundation } from '../../shared/testing/test-foundation.ts';
import { twoProcessesContract, type TwoProcesses } from './two-processes.contract.ts';

whereServer('MONGO_URL', (MONGO_URL) => {
  const DATA_DIR = temporaryFolder();
  const MONGO_DATABASE = `two-processes-${randomUUID().slice(0, 8)}`;

  const start = async (settings: Record<string, string>): Promise<TwoProcesses> => {
    const given = process.env['EVENTSTORE_URL'] ?? '';
    const standIn = given === '' ? await EventStoreServer.start() : undefined;
    const environment = {
      ...settings,
      DATA_DIR,
      MONGO_URL,
      MONGO_DATABASE,
      EVENTSTORE_URL: standIn?.url ?? given,
      ACCOUNT_URL: 'http://account.test',
    };
    const inMemory = await testFoundation({ environment });
    const MASTER_KEY = Buffer.from(inMemory.masterKey).toString('base64');
    const startProcess = () => new ServiceProcess('account', { ...environment, MASTER_KEY }).ready();
    const [first, second] = [await startProcess(), await startProcess()];
    const engines = await openEngines(inMemory.settings, inMemory.logger, ['eventStore', 'readStore', 'keyVault']);
    return {
      urls: [first.url, second.url],
      foundations: [{ ...inMemory, ...engines }],
      stop: async () => {
        await Promise.all([first.process.stop(), second.process.stop()]);
        await closeEngines(engines);
        await standIn?.close();
        await dropDatabases(MONGO_URL, [`${MONGO_DATABASE}_vault`, MONGO_DATABASE]);
      },
    };
  };

  describe('two account processes on EventStoreDB and MongoDB', () => {
    twoProcessesContract(
      start,
      sized({
        small: { redemptions: 50, refreshes: 100, firstLogins: 20 },
        full: { redemptions: 1_000, refreshes: 1_000, firstLogins: 500 },
      }),
    );
  });
});
