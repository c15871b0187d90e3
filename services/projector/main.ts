import { runWorker } from '../../shared/host/run-service.ts';
import { startProjector } from './projector.ts';

await runWorker({ name: 'projector', engines: ['eventStore', 'readStore'], start: startProjector });
