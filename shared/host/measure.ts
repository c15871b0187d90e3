import { Gauge, type Registry } from 'prom-client';
import { inTime } from '../primitives/in-time.ts';

const ANSWER_WITHIN_MS = 2_000;

/** What a process tells under one name at `/metrics`, by labels. */
export interface Measured {
  name: string;
  help: string;
  labelNames: readonly string[];
  /** What cannot be read now is left out. */
  read: () => Promise<{ labels: Record<string, string>; value: number }[]>;
}

export const measure = (registry: Registry, measured: readonly Measured[]): void => {
  for (const { read, labelNames, ...gauge } of measured) {
    new Gauge({
      ...gauge,
      labelNames: [...labelNames],
      registers: [registry],
      async collect() {
        this.reset();
        for (const { labels, value } of (await inTime(read, ANSWER_WITHIN_MS)) ?? []) this.set(labels, value);
      },
    });
  }
};
