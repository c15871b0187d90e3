import { join } from 'node:path';
import { describe } from '@jest/globals';
import { RunningProcesses } from '../../../shared/testing/processes/running-processes.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { mainPathContract } from './main-path.contract.ts';
import { readTopicInFile } from './read-topic.ts';

const folder = temporaryFolder();

describe('a process for each service, on one data folder', () => {
  mainPathContract(
    (name, chain) => RunningProcesses.start(join(folder, name), { CHAINS: chain.setting }),
    () => readTopicInFile(join(folder, 'first', 'bus.db')),
  );
});
