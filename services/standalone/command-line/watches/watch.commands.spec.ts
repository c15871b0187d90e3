import { expect, it, jest } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { folderWithStores } from '../../../../shared/testing/engines/folder-with-stores.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { watchCommand } from './watch.commands.ts';
import { withEngines } from '../with-engines.ts';

const DATA_DIR = await folderWithStores(temporaryFolder());
const { watchId } = eventExamples.ContractRegistered;

const within = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  const environment = jest.replaceProperty(process, 'env', { DATA_DIR });
  try {
    return await work();
  } finally {
    environment.restore();
  }
};

const annalsWatch = async (...args: string[]): Promise<string> => {
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await within(() => watchCommand().parseAsync(args, { from: 'user' }));
    return write.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    write.mockRestore();
  }
};

it('annals watch pauses and resumes what several apps hold, and says so', async () => {
  await within(() =>
    withEngines({ names: ['eventStore'], keepsFiles: false }, ({ eventStore }) =>
      eventStore.append(
        `watch-${watchId}`,
        -1,
        ['app_1', 'app_2'].map((appId) =>
          anEvent({ type: 'ContractRegistered', data: { ...eventExamples.ContractRegistered, appId } }),
        ),
      ),
    ),
  );
  expect(await annalsWatch('pause', watchId)).toMatch(new RegExp(`^${watchId} is paused: Transfer\\(`));
  expect(JSON.parse(await annalsWatch('pause', watchId, '--json'))).toMatchObject({ id: watchId, paused: 'operator' });
  expect(JSON.parse(await annalsWatch('resume', watchId, '--json'))).toMatchObject({ id: watchId, paused: null });
  await expect(annalsWatch('pause', 'wch_1')).rejects.toThrow('wch_1 is not the id of a registration');
  await expect(annalsWatch('resume', `wch_${'0'.repeat(26)}`)).rejects.toThrow('watch_not_found');
});

it('annals watch replays final blocks of what several apps hold, and says which', async () => {
  await within(() =>
    withEngines({ names: ['eventStore'], keepsFiles: false }, ({ eventStore }) =>
      eventStore.append('chain-2484', -1, [anEvent({ type: 'ChainAdvanced', data: eventExamples.ChainAdvanced })]),
    ),
  );
  expect(await annalsWatch('replay', watchId)).toBe(`${watchId}: blocks 1 to 7 are read again\n`);
  const some = ['--from-block', '3', '--to-block', '5'];
  expect(JSON.parse(await annalsWatch('replay', watchId, '--json', ...some))).toEqual({
    id: watchId,
    fromBlock: 3,
    toBlock: 5,
  });
  await expect(annalsWatch('replay', watchId, '--to-block', '8')).rejects.toThrow('validation_failed');
  await expect(annalsWatch('replay', 'wch_1')).rejects.toThrow('wch_1 is not the id of a registration');
});

it('annals watch has help with an example for each command', () => {
  for (const command of watchCommand().commands) {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => Infinity }).outputHelp();
    expect(help).toMatch(new RegExp(`Example:\\n  annals watch ${command.name()} `));
  }
});
