import { parentPort, workerData } from 'node:worker_threads';
import { closeEngines, openEngines } from '../../shared/host/engines.ts';
import { createLogger } from '../../shared/host/logger.ts';
import { ProcessHealth } from '../../shared/host/process-health.ts';
import { systemClock } from '../../shared/primitives/clock.ts';
import { systemIds } from '../../shared/primitives/ids.ts';
import { startProjector } from './projector.ts';
import { STARTED, type Answer, type Asked, type ProjectorWorkerData, type Question } from './thread-messages.ts';

const { settings, masterKey } = workerData as ProjectorWorkerData;
const logger = createLogger(settings);

const start = async (): Promise<Record<Asked, () => Promise<unknown>>> => {
  const engines = await openEngines(settings, logger, ['eventStore', 'readStore', 'keyVault']);
  const processHealth = new ProcessHealth();
  const part = startProjector({
    ...{ ...engines, settings, logger, masterKey, processHealth, clock: systemClock, ids: systemIds },
  });
  return {
    health: part.health,
    progress: () => part.checkpoints?.progress() ?? Promise.resolve([]),
    close: async () => {
      await part.close();
      await closeEngines(engines);
    },
  };
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
  const parts = await start();
  parentPort?.on('message', ({ id, asked }: Question) => {
    void answer(id, parts[asked]).then(() => {
      if (asked === 'close') parentPort?.close();
    });
  });
});
if (!hasStarted) parentPort?.close();
