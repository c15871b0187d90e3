import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { measure, type Measured } from './measure.ts';

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
