import { Counter, Gauge, type Registry } from 'prom-client';
import { inTime } from '../primitives/in-time.ts';

const ANSWER_WITHIN_MS = 2_000;

/** What a process tells under one name at `/metrics`, by labels. */
export interface Measured {
  name: string;
  help: string;
  labelNames: readonly string[];
  /** Whether it only grows, until the process ends. */
  isCounter?: true;
  /** What cannot be read now is left out. */
  read: () => Promise<{ labels: Record<string, string>; value: number }[]>;
}

export const measure = (registry: Registry, measured: readonly Measured[]): void => {
  for (const { read, labelNames, isCounter, ...named } of measured) {
    const metric = new (isCounter ? Counter : Gauge)({
      ...named,
      labelNames: [...labelNames],
      registers: [registry],
      async collect() {
        metric.reset();
        for (const { labels, value } of (await inTime(read, ANSWER_WITHIN_MS)) ?? []) metric.inc(labels, value);
      },
    });
  }
};
