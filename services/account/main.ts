import { serveDocument } from '../../shared/documents/docs-page.ts';
import { runService } from '../../shared/host/run-service.ts';
import { startAccount } from './account.module.ts';

await runService({
  name: 'account',
  port: 'ACCOUNT_PORT',
  engines: ['eventStore', 'readStore', 'keyVault'],
  // The keys that sign tokens are kept in files.
  keepsFiles: true,
  start: (foundation) => startAccount(foundation, { configure: serveDocument('openapi.account', foundation.settings) }),
});
