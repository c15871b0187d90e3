import type { Position } from '../../../shared/event-store/event-store.ts';
import type { WorkerFoundation } from '../../../shared/host/foundation.ts';
import type { CheckpointLoop } from '../../../shared/loops/checkpoint-loops.ts';
import { leasedLoop } from '../../../shared/loops/leased-loop.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { LOG } from '../../../shared/read-models/transparency-log.ts';
import { StoredLog } from '../../../shared/transparency-log/stored-log.ts';
import { TreeEdge } from '../../../shared/transparency-log/tiles.ts';

/** Events that arrive within this time become leaves together, because each write stores the tiles at the edge anew. */
const BATCH_INTERVAL_MS = 250;

type LogLoopOptions = Pick<WorkerFoundation, 'eventStore' | 'readStore' | 'logger'>;

/**
 * Adds every lasting event to the log as a leaf, in the order of the store, in one process at a time. If two work at
 * once, each continues the state that it has read, so both make the same tiles for a position; a tile and the state are only
 * replaced by newer ones.
 */
export const logLoop = ({ eventStore, readStore, logger }: LogLoopOptions): CheckpointLoop => {
  const log = new StoredLog(readStore);
  const loop = leasedLoop({
    name: 'log',
    leases: readStore,
    logger,
    run: async (signal, reportRunning) => {
      const { edge, position } = await openEdge(log, logger);
      // Not from the checkpoint, which a late write of another process may have moved past this state.
      for await (const batch of eventStore.subscribeAll(position, undefined, signal)) {
        const nextAt = performance.now() + BATCH_INTERVAL_MS;
        await log.add(edge, batch);
        reportRunning();
        if (batch.caughtUp) await pause(Math.max(0, nextAt - performance.now()), signal);
      }
    },
  });
  return { checkpoint: LOG, loop };
};

/** Returns the edge of the stored tree; without its tiles that of an empty tree, from which all tiles are made anew. */
const openEdge = async (
  log: StoredLog,
  logger: LogLoopOptions['logger'],
): Promise<{ edge: TreeEdge; position: Position }> => {
  const { size, position } = await log.state();
  try {
    return { edge: await TreeEdge.of(size, (tiles) => log.tiles(tiles)), position };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    logger.warn({ err: error }, 'tiles of the transparency log are missing: it is made anew from the first event');
    return { edge: TreeEdge.empty(), position: 0 };
  }
};
