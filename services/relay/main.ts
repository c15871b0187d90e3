import { runWorker } from '../../shared/host/run-service.ts';
import { loadEdgeKey } from '../../shared/keys/master-key.ts';
import { startRelay } from './relay.ts';

await runWorker({
  name: 'relay',
  engines: ['eventStore', 'messageBus', 'readStore'],
  start: (foundation) => startRelay({ ...foundation, edgeKey: loadEdgeKey(foundation.settings) }),
});
