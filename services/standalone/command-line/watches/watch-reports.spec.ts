import { join } from 'node:path';
import { expect, it, jest } from '@jest/globals';
import { CATCHERS_KIND } from '../../../../schemas/announcements.ts';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { WatchStatus } from '../../../../schemas/http/event-catcher/watched-contract.ts';
import { announcing } from '../../../../shared/coordination/announcing.ts';
import { chainsModel } from '../../../../shared/read-models/event-catcher/chains.ts';
import { watchesModel } from '../../../../shared/read-models/event-catcher/watches.ts';
import { anEvent, storedEvent } from '../../../../shared/testing/event-builder.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { projectInto } from '../../../../shared/testing/project.ts';
import { folderWithStores } from '../../../../shared/testing/engines/folder-with-stores.ts';
import { inSimulatedTime } from '../../../../shared/testing/simulation/simulated-globals.ts';
import type { SimulatedTime } from '../../../../shared/testing/simulation/simulated-time.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { createLogger } from '../../../../shared/host/logger.ts';
import type { Engines } from '../../../../shared/host/engines/engines.ts';
import { watchCommand } from './watch.commands.ts';
import { withEngines } from '../with-engines.ts';

const { watchId, chainId, contractAddress } = eventExamples.ContractRegistered;
const FOLDER = temporaryFolder();
let folders = 0;
const KNOWN = Number.MAX_SAFE_INTEGER;
const backfill = { watchIds: [watchId], from: 1, next: 5, to: 7, joins: true };

type Stores = Pick<Engines, 'eventStore' | 'readStore'>;

type Work = (
  stores: Stores & { advance: (changes: object) => Promise<void>; pause: (ms: number) => Promise<void> },
) => Promise<void>;

/** Runs `work` in simulated time, with the stores of a data folder, which has one watch and the progress of its chain. */
const beside = (work: Work) => inSimulatedTime((time) => besideStores(time, work));

const besideStores = async (time: SimulatedTime, work: Work) => {
  const DATA_DIR = await folderWithStores(join(FOLDER, String((folders += 1))));
  const environment = jest.replaceProperty(process, 'env', { DATA_DIR, LOG_LEVEL: 'silent' });
  try {
    await withEngines({ names: ['eventStore', 'readStore'], keepsFiles: false }, async (stores) => {
      const { eventStore, readStore } = stores;
      const registered = anEvent({ type: 'ContractRegistered', data: eventExamples.ContractRegistered });
      await eventStore.append(`watch-${watchId}`, -1, [registered]);
      const { events } = await eventStore.readAll(0, undefined, 10);
      await projectInto(readStore, [watchesModel], events);
      let position = 1_000;
      const advance = async (changes: object) => {
        position += 1;
        const data = { watchesUpTo: KNOWN, ...changes };
        await projectInto(readStore, [chainsModel], [storedEvent('ChainAdvanced', data, { position })]);
      };
      await work({ ...stores, advance, pause: (ms) => time.pause(ms) });
    });
  } finally {
    environment.restore();
  }
};

/** Runs `work` while an event catcher announces that it follows the chain. */
const whileFollowed = async ({ readStore }: Stores, work: () => Promise<void>) => {
  const backfills = [{ watchIds: [watchId], eventsPerSecond: 40, blocksPerSecond: 1, error: null }];
  const statuses = [{ chainId, error: null, backfills }];
  const describeCatcher = () => ({ chainIds: [chainId], failing: [], followed: [chainId], statuses });
  const logger = createLogger({ LOG_LEVEL: 'silent', NODE_ENV: 'production' });
  const loop = announcing({ kind: CATCHERS_KIND, id: 'one', readStore, logger, describe: describeCatcher });
  loop.start();
  // Another spec of the same process may have left an exit code.
  process.exitCode = undefined;
  try {
    await work();
  } finally {
    await loop.stop();
  }
};

/** Runs a command, and provides its output so far. */
const annalsWatch = (...args: string[]) => {
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const written = () => write.mock.calls.map(([text]) => String(text)).join('');
  const ended = watchCommand()
    .parseAsync(args, { from: 'user' })
    .then(written)
    .finally(() => {
      write.mockRestore();
    });
  return { written, ended };
};

it('annals watch status tells what an event catcher announces of a backfill', () =>
  beside(async (stores) => {
    await stores.advance({ backfills: [backfill] });
    await whileFollowed(stores, async () => {
      const status = JSON.parse(await annalsWatch('status', watchId, '--json').ended) as WatchStatus;
      expect(status).toMatchObject({
        ...{ id: watchId, chainId, contractAddress, state: 'backfilling', startBlock: 1, currentBlockNumber: 4 },
        ...{ eventsPerSecond: 40, etaSeconds: 3, lastError: null },
      });
      expect(await annalsWatch('status', watchId).ended).toMatch(/^events {9}0, 40 a second\nremaining {6}3 s$/m);
    });
  }));

it('annals watch status says it when no event catcher runs that follows the chain', () =>
  beside(async (stores) => {
    await stores.advance({ backfills: [backfill] });
    // The announcement of a process that was killed: nobody renews it.
    const left = { chainIds: [chainId], failing: [], followed: [chainId] };
    await stores.readStore.announce(CATCHERS_KIND, { id: 'one', renewals: 1, document: left });
    const status = JSON.parse(await annalsWatch('status', watchId, '--json').ended) as WatchStatus;
    expect(status).toMatchObject({ state: 'failed', eventsPerSecond: 0, etaSeconds: null });
    expect(status.lastError).toContain(`no event catcher follows chain ${String(chainId)}`);
    expect(JSON.parse(await annalsWatch('list', '--json').ended)).toMatchObject([{ id: watchId, state: 'failed' }]);
  }));

it('annals watch list shows every watch, with how far it is', () =>
  beside(async (stores) => {
    await whileFollowed(stores, async () => {
      expect(await annalsWatch('list').ended).toMatch(/ {2}backfilling {2}nothing read yet {2}Transfer\(/);
      await stores.advance({});
      const [watch] = JSON.parse(await annalsWatch('list', '--json').ended) as unknown[];
      const { head } = eventExamples.ChainAdvanced;
      const { eventName, eventSignature, startBlock } = eventExamples.ContractRegistered;
      expect(watch).toEqual({
        ...{ id: watchId, chainId, contractAddress, eventName, eventSignature, startBlock },
        ...{ state: 'live', currentBlockNumber: head, headBlock: head, gaps: [] },
      });
    });
  }));

it('annals watch status --follow shows progress in lines until the watch is live', () =>
  beside(async (stores) => {
    await stores.advance({ backfills: [backfill] });
    await whileFollowed(stores, async () => {
      const following = annalsWatch('status', watchId, '--follow');
      await eventually(() => following.written().includes('block 4 of'), 10_000, 'it must say how far it is');
      // Looks again several times meanwhile, and has nothing else to say.
      await stores.pause(4_500);
      await stores.advance({ backfills: [{ ...backfill, next: 7 }] });
      await eventually(() => following.written().includes('block 6 of'), 10_000, 'it must go on');
      await stores.advance({});
      const lines = (await following.ended).trimEnd().split('\n');
      expect(lines.map((line) => line.split('  ')[1])).toEqual(['backfilling', 'backfilling', 'live']);
      expect(process.exitCode).toBeUndefined();
    });
  }));

it('annals watch status --follow ends at Ctrl-C with the exit code that a shell expects', () =>
  beside(async (stores) => {
    await stores.advance({ backfills: [backfill] });
    await whileFollowed(stores, async () => {
      const following = annalsWatch('status', watchId, '--follow', '--json');
      await eventually(() => following.written().includes('\n'), 10_000, 'it must say how far it is');
      process.emit('SIGINT', 'SIGINT');
      expect(JSON.parse(await following.ended)).toMatchObject({ id: watchId, state: 'backfilling' });
      expect(process.exitCode).toBe(130);
      process.exitCode = undefined;
    });
  }));

it('annals watch status is refused for what is not registered', () =>
  beside(async () => {
    await expect(annalsWatch('status', 'wch_1').ended).rejects.toThrow('wch_1 is not the id of a registration');
    await expect(annalsWatch('status', `wch_${'0'.repeat(26)}`).ended).rejects.toThrow('watch_not_found');
  }));
