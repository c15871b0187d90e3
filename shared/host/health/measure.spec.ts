import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { CountedTimes, measure, type Measured } from './measure.ts';

it('tells what is there now, as a counter where it only grows', async () => {
  const registry = new Registry();
  let values = [
    { labels: { queue: 'a' }, value: 2 },
    { labels: { queue: 'b' }, value: 1 },
  ];
  const measured = {
    help: 'x',
    labelNames: ['queue'],
    read: () => Promise.resolve(values),
  } satisfies Partial<Measured>;
  measure(registry, [
    { ...measured, name: 'waiting' },
    { ...measured, name: 'failures_total', isCounter: true },
  ]);
  await registry.metrics();
  values = [{ labels: { queue: 'a' }, value: 3 }];
  expect((await registry.metrics()).split('\n').filter((line) => line !== '')).toEqual([
    '# HELP waiting x',
    '# TYPE waiting gauge',
    'waiting{queue="a"} 3',
    '# HELP failures_total x',
    '# TYPE failures_total counter',
    'failures_total{queue="a"} 3',
  ]);
});

it('tells how often something took how long', async () => {
  const registry = new Registry();
  const times = new CountedTimes({ name: 'took_seconds', help: 'x' }, [0.01, 0.1]);
  measure(registry, [times.measured]);
  for (const seconds of [0, 0.01, 0.05, 2]) times.add(seconds);
  expect((await registry.metrics()).split('\n').filter((line) => line !== '')).toEqual([
    '# HELP took_seconds x',
    '# TYPE took_seconds histogram',
    'took_seconds_bucket{le="0.01"} 2',
    'took_seconds_bucket{le="0.1"} 3',
    'took_seconds_bucket{le="+Inf"} 4',
    'took_seconds_sum 2.06',
    'took_seconds_count 4',
  ]);
});
