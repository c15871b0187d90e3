import { runService } from '../../shared/lifecycle/run-service.ts';
import { accountIssuer } from '../../shared/nest/account-issuer.ts';
import { startStream } from './stream.module.ts';

await runService({
  name: 'stream',
  port: 'STREAM_PORT',
  engines: ['eventStore', 'messageBus', 'readStore'],
  start: (foundation) => startStream(foundation, accountIssuer(foundation.settings)),
});
