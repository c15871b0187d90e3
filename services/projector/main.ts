import { loadMasterKey } from '../../shared/keys/master-key.ts';
import { runWorker } from '../../shared/host/run-service.ts';
import { startProjector } from './projector.ts';

await runWorker({
  name: 'projector',
  engines: ['eventStore', 'readStore', 'keyVault'],
  start: (foundation) => startProjector({ ...foundation, masterKey: loadMasterKey(foundation.settings) }),
});
