import { beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { SupervisedLoop, type LoopState } from './supervised-loop.ts';
import { measure } from '../host/health/measure.ts';
import { checkpointMetrics } from '../host/health/checkpoint-metrics.ts';
import { CheckpointLoops } from './checkpoint-loops.ts';

class LoopInState extends SupervisedLoop {
  constructor(public now: LoopState) {
    super('work', pino({ level: 'silent' }), () => Promise.resolve());
  }
  override get state(): LoopState {
    return this.now;
  }
}

describe('a worker', () => {
  let loops: { users: LoopInState; relay: LoopInState };
  let head: number;
  let positions: { users: number; relay: number };
  let nowMs: number;
  let checkpoints: CheckpointLoops;

  beforeEach(() => {
    loops = { users: new LoopInState('running'), relay: new LoopInState('running') };
    [head, positions, nowMs] = [100, { users: 100, relay: 40 }, 0];
    checkpoints = new CheckpointLoops(
      [
        { checkpoint: 'users', loop: loops.users },
        { checkpoint: 'relay', loop: loops.relay },
      ],
      { head: () => Promise.resolve(head) },
      { position: (name) => Promise.resolve(positions[name as keyof typeof positions]) },
      { now: () => nowMs },
    );
  });
  const isCaughtUp = () => checkpoints.readiness.caughtUp();
  const isWorking = () => checkpoints.readiness.working();

  it('is caught up when each of its checkpoints has reached the head of the start', async () => {
    expect(await isCaughtUp()).toBe(false);
    [head, positions.relay] = [900, 99];
    expect(await isCaughtUp()).toBe(false);
    [positions.relay, positions.users] = [100, 850];
    expect(await isCaughtUp()).toBe(true);
  });

  it('stays caught up while it follows a growing head, until it is behind for 10 s', async () => {
    positions.relay = 100;
    expect(await isCaughtUp()).toBe(true);
    for (head = 200; head < 1_000; head += 100) {
      nowMs += 60_000;
      expect(await isCaughtUp()).toBe(true);
      positions = { users: head, relay: head };
    }
    positions.relay = 500;
    nowMs += 9_000;
    expect(await isCaughtUp()).toBe(true);
    nowMs += 2_000;
    expect(await isCaughtUp()).toBe(false);
  });

  it.each([
    [9_000, true],
    [12_000, false],
    [17_000, false],
  ])('reports the same at any time when it is always %i ms behind', async (behindMs, expected) => {
    const judged = new Set<boolean | undefined>();
    for (; nowMs < 120_000; nowMs += 2_000) {
      [head, positions] = [nowMs, { users: nowMs, relay: nowMs - behindMs }];
      const judgement = await isCaughtUp();
      if (nowMs > 2 * behindMs) judged.add(judgement);
    }
    expect(Array.from(judged)).toEqual([expected]);
  });

  it('is ready on standby, however far the active process is', async () => {
    loops.relay.now = 'standby';
    expect(await isCaughtUp()).toBe(true);
    expect(isWorking()).toBe(true);
    loops.relay.now = 'running';
    expect(await isCaughtUp()).toBe(false);
  });

  it.each(['starting', 'failing', 'stopped'] as const)('is not ready while one of its loops is %s', (state) => {
    loops.users.now = state;
    expect(isWorking()).toBe(false);
  });

  it('exports each checkpoint as metrics, and leaves out what cannot be read', async () => {
    const registry = new Registry();
    measure(registry, checkpointMetrics([checkpoints]));
    loops.users.now = 'standby';
    const shown = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(shown).toEqual([
      'annals_checkpoint_position{checkpoint="users"} 100',
      'annals_checkpoint_position{checkpoint="relay"} 40',
      'annals_checkpoint_lag{checkpoint="users"} 0',
      'annals_checkpoint_lag{checkpoint="relay"} 60',
      'annals_checkpoint_followed_here{checkpoint="users"} 0',
      'annals_checkpoint_followed_here{checkpoint="relay"} 1',
    ]);
    const away = { head: () => Promise.reject(new Error('away')) };
    const blind = new Registry();
    const readStore = { position: () => Promise.resolve(0) };
    const cannotTell = new CheckpointLoops([{ checkpoint: 'users', loop: loops.users }], away, readStore);
    measure(blind, checkpointMetrics([cannotTell]));
    expect(await blind.metrics()).not.toContain('checkpoint=');
  });
});
