import { describe, it, jest } from '@jest/globals';
import { RunningComposition } from '../../../shared/testing/processes/running-composition.ts';
import { mainPathContract } from './main-path.contract.ts';

/** A test may have to build images and start engines. */
const TEST_MS = 600_000;

describe('docker-compose.yml, in production', () => {
  if (process.env['ANNALS_COMPOSE'] === '1') {
    jest.setTimeout(TEST_MS);
    mainPathContract((_, chain) => RunningComposition.start(chain.setting));
  } else {
    it.skip('takes minutes and a container engine: npm run test:all -- composition', () => undefined);
  }
});
