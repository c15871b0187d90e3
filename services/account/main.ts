import { requireServedChains } from '../../shared/chain/served-chains.ts';
import { serveDocument } from '../../shared/documents/docs-page.ts';
import { loadMasterKey } from '../../shared/keys/master-key.ts';
import { runService } from '../../shared/host/run-service.ts';
import { startAccount } from './account.module.ts';

await runService({
  name: 'account',
  port: 'ACCOUNT_PORT',
  engines: ['eventStore', 'readStore', 'keyVault'],
  // In development the master key may be made in a file, and commands that change keys see that the folder is in use.
  keepsFiles: true,
  start: async (foundation) => {
    await requireServedChains(foundation.settings.CHAINS);
    const masterKey = loadMasterKey(foundation.settings);
    return startAccount(
      { ...foundation, masterKey },
      { configure: serveDocument('openapi.account', foundation.settings) },
    );
  },
});
