import { expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventually } from '../testing/eventually.ts';
import { SupervisedLoop } from './supervised-loop.ts';

it('a loop that fails again and again for one reason says that once, and another reason too', async () => {
  const told: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line: string) => told.push(line) });
  let runs = 0;
  const loop = new SupervisedLoop('work', logger, (_, working) => {
    runs += 1;
    working();
    return Promise.reject(new Error(runs < 4 ? 'the store is away' : 'the store is full'));
  });
  loop.start();
  await eventually(() => runs === 5, 5_000, 'it must start again');
  await loop.stop();
  expect(told.map((line) => /the store is \w+/.exec(line)?.[0])).toEqual(['the store is away', 'the store is full']);
});

it('a loop that ends by itself has failed, and waits before it starts again', async () => {
  let runs = 0;
  const loop = new SupervisedLoop('work', pino({ level: 'silent' }), () => {
    runs += 1;
    return Promise.resolve();
  });
  loop.start();
  await eventually(() => loop.state === 'failing', 5_000, 'it must be seen as failing');
  expect(runs).toBe(1);
  expect(loop.lastError).toBe('work ended by itself');
  await loop.stop();
  expect(loop.state).toBe('stopped');
});

it('a loop that stands by between failures waits longer each time, and goes on saying what failed', async () => {
  const startedAt: number[] = [];
  const said: (string | null)[] = [];
  const loop = new SupervisedLoop('work', pino({ level: 'silent' }), (_, reached) => {
    startedAt.push(performance.now());
    reached('standby');
    reached('starting');
    said.push(loop.lastError);
    return Promise.reject(new Error('the event cannot be read'));
  });
  loop.start();
  await eventually(() => startedAt.length === 4, 5_000, 'it must start again');
  await loop.stop();
  const [first = 0, , , fourth = 0] = startedAt;
  // Half of 100, 200 and 400 ms; three times the first wait is at most 300.
  expect(fourth - first).toBeGreaterThanOrEqual(350 - 1);
  expect(said).toEqual([null, ...Array<string>(3).fill('the event cannot be read')]);
});
