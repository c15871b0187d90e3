import { expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventually } from '../testing/eventually.ts';
import { inSimulatedTime } from '../testing/simulation/simulated-globals.ts';
import { SupervisedLoop } from './supervised-loop.ts';

it('a loop that fails repeatedly logs each reason once', () =>
  inSimulatedTime(async () => {
    const logged: string[] = [];
    const logger = pino({ level: 'error' }, { write: (line: string) => logged.push(line) });
    let runs = 0;
    const loop = new SupervisedLoop('work', logger, (_, reportRunning) => {
      runs += 1;
      reportRunning();
      return Promise.reject(new Error(runs < 4 ? 'the store is away' : 'the store is full'));
    });
    loop.start();
    await eventually(() => runs === 5, 5_000, 'it must start again');
    await loop.stop();
    expect(logged.map((line) => /the store is \w+/.exec(line)?.[0])).toEqual([
      'the store is away',
      'the store is full',
    ]);
  }));

it('a loop that ends by itself has failed, and waits before it starts again', () =>
  inSimulatedTime(async () => {
    let runs = 0;
    const loop = new SupervisedLoop('work', pino({ level: 'silent' }), () => {
      runs += 1;
      return Promise.resolve();
    });
    loop.start();
    await eventually(() => loop.state === 'failing', 5_000, 'it must be failing');
    expect(runs).toBe(1);
    expect(loop.lastError).toBe('work ended by itself');
    await loop.stop();
    expect(loop.state).toBe('stopped');
  }));

it('a loop on standby between failures waits longer each time, and keeps its last error', () =>
  inSimulatedTime(async (time) => {
    const startedAt: number[] = [];
    const errors: (string | null)[] = [];
    const loop = new SupervisedLoop('work', pino({ level: 'silent' }), (_, report) => {
      startedAt.push(time.elapsed());
      report('standby');
      report('starting');
      errors.push(loop.lastError);
      return Promise.reject(new Error('the event cannot be read'));
    });
    loop.start();
    await eventually(() => startedAt.length === 4, 5_000, 'it must start again');
    await loop.stop();
    // 100, 200 and 400 ms, each shortened by a quarter: nothing is random in simulated time.
    expect(startedAt).toEqual([0, 75, 225, 525]);
    expect(errors).toEqual([null, ...Array<string>(3).fill('the event cannot be read')]);
  }));
