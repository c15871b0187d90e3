import { describe } from '@jest/globals';
import { closeEngines, openEngines } from '../../shared/host/engines/engines.ts';
import { requireOwnVault } from '../../shared/key-vault/own-vault.ts';
import { sized } from '../../shared/testing/sized.ts';
import { temporaryFolder } from '../../shared/testing/temporary-folder.ts';
import { testFoundation } from '../../shared/testing/test-foundation.ts';
import { startAccount } from './account.module.ts';
import { twoProcessesContract } from './two-processes.contract.ts';

const DATA_DIR = temporaryFolder();

/** The account service as in another process: it has its own engines on the same files. */
const startProcess = async (settings: Record<string, string>) => {
  const environment = { DATA_DIR, ACCOUNT_URL: 'http://account.test', RATE_LIMITS: 'off' };
  const inMemory = await testFoundation({ environment: { ...environment, ...settings } });
  const engines = await openEngines(inMemory.settings, inMemory.logger, ['eventStore', 'readStore', 'keyVault']);
  const foundation = { ...inMemory, ...engines };
  const names = { vault: 'the vault', masterKey: 'the master key' };
  await requireOwnVault({ ...foundation, names }, { makes: true });
  const service = await startAccount(foundation);
  const stop = async () => {
    await service.close();
    await closeEngines(engines);
  };
  return { url: `http://127.0.0.1:${new URL(await service.app.getUrl()).port}`, foundation, stop };
};

describe('two account processes on one folder', () => {
  twoProcessesContract(
    async (settings) => {
      const [first, second] = [await startProcess(settings), await startProcess(settings)];
      return {
        urls: [first.url, second.url],
        foundations: [first.foundation, second.foundation],
        stop: async () => {
          await first.stop();
          await second.stop();
        },
      };
    },
    { redemptions: sized({ small: 200, full: 1_000 }), refreshes: 1_000, firstLogins: 500 },
  );
});
