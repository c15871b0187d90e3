import { expect, it } from '@jest/globals';
import { temporaryFolder } from '../../shared/testing/temporary-folder.ts';
import { testFoundation } from '../../shared/testing/test-foundation.ts';
import { startAccount } from './account.module.ts';

const DATA_DIR = temporaryFolder();

it('a service that starts for the first time has a key of the log, and no user and no app', async () => {
  const foundation = await testFoundation({ environment: { DATA_DIR } });
  const service = await startAccount(foundation);
  const stored = await foundation.eventStore.readAll(0, undefined, 10);
  expect(stored.events.map(({ stream, type }) => [stream, type])).toEqual([['log', 'LogKeyMade']]);
  await service.close();
});
