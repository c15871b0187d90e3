import { parentPort, workerData } from 'node:worker_threads';
import { closeEngines, openEngines } from '../../shared/host/engines/engines.ts';
import { createLogger } from '../../shared/host/logger.ts';
import { ProcessHealth } from '../../shared/host/health/process-health.ts';
import { systemClock } from '../../shared/primitives/clock.ts';
import { systemIds } from '../../shared/primitives/ids.ts';
import { startProjector } from '../projector/projector.ts';
import { startRelay } from '../relay/relay.ts';
import {
  STARTED,
  type Answer,
  type Asked,
  type MeasuredNow,
  type Question,
  type ThreadData,
  type WorkerName,
} from './thread-messages.ts';

const { worker, settings, masterKey, edgeKey } = workerData as ThreadData;
const logger = createLogger(settings);

const common = {
  settings,
  logger,
  masterKey,
  edgeKey,
  clock: systemClock,
  ids: systemIds,
  processHealth: new ProcessHealth(),
};

const workers = {
  projector: async () => {
    const engines = await openEngines(settings, logger, ['eventStore', 'readStore', 'keyVault']);
    return { engines, part: startProjector({ ...common, ...engines }) };
  },
  relay: async () => {
    const engines = await openEngines(settings, logger, ['eventStore', 'messageBus', 'readStore']);
    return { engines, part: startRelay({ ...common, ...engines }) };
  },
} satisfies Record<WorkerName, unknown>;

const start = async (): Promise<(asked: Asked) => Promise<unknown>> => {
  const { engines, part } = await workers[worker]();
  const answers: Record<Asked, () => Promise<unknown>> = {
    health: part.health,
    progress: async () => part.checkpoints?.progress() ?? [],
    measured: () =>
      Promise.all(
        (part.measured ?? []).map(async ({ read, ...named }): Promise<MeasuredNow> => ({
          ...named,
          values: await read(),
        })),
      ),
    close: async () => {
      await part.close();
      return closeEngines(engines);
    },
  };
  return (asked) => answers[asked]();
};

const tell = (answer: Answer): void => parentPort?.postMessage(answer);
const answer = async (id: number, work: () => Promise<unknown>): Promise<boolean> => {
  try {
    tell({ id, value: await work() });
    return true;
  } catch (error) {
    tell({ id, error });
    return false;
  }
};

const hasStarted = await answer(STARTED, async () => {
  const answerTo = await start();
  parentPort?.on('message', ({ id, asked }: Question) => {
    void answer(id, () => answerTo(asked)).then(() => {
      if (asked === 'close') parentPort?.close();
    });
  });
});
if (!hasStarted) parentPort?.close();
