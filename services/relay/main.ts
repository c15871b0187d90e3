import { runWorker } from '../../shared/host/run-service.ts';
import { startRelay } from './relay.ts';

await runWorker({ name: 'relay', engines: ['eventStore', 'messageBus', 'readStore'], start: startRelay });
