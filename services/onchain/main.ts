import { requireServedChains } from '../../shared/chain/served-chains.ts';
import { runWorker } from '../../shared/host/run-service.ts';
import { loadMasterKey } from '../../shared/keys/master-key.ts';
import { startBundler } from './start-bundler.ts';

await runWorker({
  name: 'bundler',
  engines: ['eventStore', 'readStore', 'keyVault'],
  start: async (foundation) => {
    await requireServedChains(foundation.settings.CHAINS);
    return startBundler({ ...foundation, masterKey: loadMasterKey(foundation.settings) });
  },
});
