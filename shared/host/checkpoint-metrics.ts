import { Gauge, type Registry } from 'prom-client';
import type { CheckpointProgress, CheckpointLoops } from '../loops/checkpoint-loops.ts';
import { inTime } from '../primitives/in-time.ts';

const ANSWER_WITHIN_MS = 2_000;

/** Exports how far each checkpoint is. A checkpoint that cannot be read now is left out. */
export const measureCheckpoints = (registry: Registry, parts: readonly Pick<CheckpointLoops, 'progress'>[]): void => {
  const progress = async () => (await Promise.all(parts.map((part) => part.progress()))).flat();
  const gauge = (name: string, help: string, valueOf: (progress: CheckpointProgress) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['checkpoint'],
      registers: [registry],
      async collect() {
        this.reset();
        for (const one of (await inTime(progress, ANSWER_WITHIN_MS)) ?? []) {
          this.set({ checkpoint: one.checkpoint }, valueOf(one));
        }
      },
    });
  gauge('annals_checkpoint_position', 'Position of the checkpoint in the event store.', ({ position }) => position);
  gauge(
    'annals_checkpoint_lag',
    'How far the checkpoint is behind the newest event, in positions.',
    ({ position, head }) => Math.max(0, head - position),
  );
  gauge('annals_checkpoint_followed_here', '1 when this process advances it, 0 when it is on standby.', ({ state }) =>
    Number(state === 'running'),
  );
};
