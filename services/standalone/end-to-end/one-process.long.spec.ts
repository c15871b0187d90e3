import { join } from 'node:path';
import { describe } from '@jest/globals';
import { RunningProgram } from '../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { mainPathContract } from './main-path.contract.ts';
import { readTopicInFile } from './read-topic.ts';

const folder = temporaryFolder();

describe('npm start', () => {
  mainPathContract(
    (name, chain) => RunningProgram.start(join(folder, name), { CHAINS: chain.setting }),
    () => readTopicInFile(join(folder, 'first', 'bus.db')),
  );
});
