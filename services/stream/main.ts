import { serveDocument } from '../../shared/documents/docs-page.ts';
import { runService } from '../../shared/host/run-service.ts';
import { accountIssuer } from '../../shared/auth/account-issuer.ts';
import { eventUrlOf } from './event-url.ts';
import { startStream } from './stream.module.ts';

await runService({
  name: 'stream',
  port: 'STREAM_PORT',
  engines: ['eventStore', 'messageBus', 'readStore'],
  start: (foundation) => {
    const { settings } = foundation;
    return startStream(foundation, accountIssuer(settings), {
      eventUrl: eventUrlOf(settings),
      configure: serveDocument('openapi.stream', settings),
    });
  },
});
