import { expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventually } from '../testing/eventually.ts';
import { SupervisedLoop } from './supervised-loop.ts';

it('a loop that fails repeatedly logs each reason once', async () => {
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
  expect(logged.map((line) => /the store is \w+/.exec(line)?.[0])).toEqual(['the store is away', 'the store is full']);
});

it('a loop that ends by itself has failed, and waits before it starts again', async () => {
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
});

it('a loop on standby between failures waits longer each time, and keeps its last error', async () => {
  const startedAt: number[] = [];
  const errors: (string | null)[] = [];
  const loop = new SupervisedLoop('work', pino({ level: 'silent' }), (_, report) => {
    startedAt.push(performance.now());
    report('standby');
    report('starting');
    errors.push(loop.lastError);
    return Promise.reject(new Error('the event cannot be read'));
  });
  loop.start();
  await eventually(() => startedAt.length === 4, 5_000, 'it must start again');
  await loop.stop();
  const [first = 0, , , fourth = 0] = startedAt;
  // Half of 100, 200 and 400 ms; three times the first wait is at most 300.
  expect(fourth - first).toBeGreaterThanOrEqual(350 - 1);
  expect(errors).toEqual([null, ...Array<string>(3).fill('the event cannot be read')]);
});
