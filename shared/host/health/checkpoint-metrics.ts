import type { CheckpointProgress, CheckpointLoops } from '../../loops/checkpoint-loops.ts';
import type { Measured } from './measure.ts';

/** Gauges of each checkpoint's progress. */
export const checkpointMetrics = (parts: readonly Pick<CheckpointLoops, 'progress'>[]): Measured[] => {
  const gauge = (name: string, help: string, valueOf: (progress: CheckpointProgress) => number): Measured => ({
    name,
    help,
    labelNames: ['checkpoint'],
    read: async () =>
      (await Promise.all(parts.map((part) => part.progress())))
        .flat()
        .map((one) => ({ labels: { checkpoint: one.checkpoint }, value: valueOf(one) })),
  });
  return [
    gauge('annals_checkpoint_position', 'Position of the checkpoint in the event store.', ({ position }) => position),
    gauge(
      'annals_checkpoint_lag',
      'How far the checkpoint is behind the newest event, in positions.',
      ({ position, head }) => Math.max(0, head - position),
    ),
    gauge('annals_checkpoint_followed_here', '1 when this process advances it, 0 when it is on standby.', ({ state }) =>
      Number(state === 'running'),
    ),
  ];
};
