import { parentPort, workerData } from 'node:worker_threads';
import { closeEngines, everyEngine, openEngines } from '../../shared/host/engines.ts';
import { createLogger } from '../../shared/host/logger.ts';
import { ProcessHealth } from '../../shared/host/process-health.ts';
import type { RunningPart } from '../../shared/host/running-part.ts';
import { systemClock } from '../../shared/primitives/clock.ts';
import { systemIds } from '../../shared/primitives/ids.ts';
import { startProjector } from '../projector/projector.ts';
import { startRelay } from '../relay/relay.ts';
import {
  STARTED,
  type Answer,
  type Asked,
  type Question,
  type WorkerName,
  type WorkersData,
} from './thread-messages.ts';

const { settings, masterKey } = workerData as WorkersData;
const logger = createLogger(settings);

const start = async (): Promise<(asked: Asked) => Promise<unknown>> => {
  const engines = await openEngines(settings, logger, everyEngine);
  const processHealth = new ProcessHealth();
  const foundation = { ...engines, settings, logger, processHealth, clock: systemClock, ids: systemIds };
  const workers: Record<WorkerName, RunningPart> = {
    projector: startProjector({ ...foundation, masterKey }),
    relay: startRelay(foundation),
  };
  return async (asked) => {
    if (asked === 'close') {
      await Promise.all(Object.values(workers).map(({ close }) => close()));
      return closeEngines(engines);
    }
    const { health, checkpoints } = workers[asked.of];
    return asked.what === 'health' ? health() : (checkpoints?.progress() ?? []);
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
  const answerTo = await start();
  parentPort?.on('message', ({ id, asked }: Question) => {
    void answer(id, () => answerTo(asked)).then(() => {
      if (asked === 'close') parentPort?.close();
    });
  });
});
if (!hasStarted) parentPort?.close();
