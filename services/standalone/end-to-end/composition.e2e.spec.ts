import { describe, it, jest } from '@jest/globals';
import { RunningComposition } from '../../../shared/testing/running-composition.ts';
import { promisesTheMainPath } from './main-path.contract.ts';

/** Images are built, and engines start, within a test. */
const TAKES_MS = 600_000;

describe('docker-compose.yml, in production', () => {
  if (process.env['ANNALS_COMPOSE'] === '1') {
    jest.setTimeout(TAKES_MS);
    promisesTheMainPath((_, chain) => RunningComposition.start(chain.setting));
  } else {
    it.skip('takes minutes and a container engine: npm run test:compose', () => undefined);
  }
});
