import { requireServedChains } from '../../shared/chain/served-chains.ts';
import { serveDocument } from '../../shared/documents/docs-page.ts';
import { runService } from '../../shared/host/run-service.ts';
import { accountIssuer } from '../../shared/auth/account-issuer.ts';
import { startEventCatcher } from './event-catcher.module.ts';

await runService({
  name: 'event-catcher',
  port: 'EVENT_CATCHER_PORT',
  engines: ['eventStore', 'readStore'],
  start: async (foundation) => {
    await requireServedChains(foundation.settings.CHAINS);
    return startEventCatcher(foundation, accountIssuer(foundation.settings), {
      chains: foundation.settings.CHAINS ?? [],
      configure: serveDocument('openapi.event-catcher', foundation.settings),
    });
  },
});
