import { Counter, Gauge, type MetricType, type Registry } from 'prom-client';
import { inTime } from '../../primitives/waiting/in-time.ts';

const ANSWER_WITHIN_MS = 2_000;

/** A metric of a process at `/metrics`, with its values by labels. */
export interface Measured {
  name: string;
  help: string;
  labelNames: readonly string[];
  /** Whether it only grows, until the process ends. */
  isCounter?: true;
  /** Whether it counts values by their size: `CountedTimes`. */
  isHistogram?: true;
  /** Values that cannot be read now are omitted. */
  read: () => Promise<MeasuredValue[]>;
}

interface MeasuredValue {
  labels: Record<string, string>;
  value: number;
  /** Of a histogram: what Prometheus appends to the name. */
  suffix?: '_bucket' | '_sum' | '_count';
}

/** A metric that this process counts by itself, by labels. */
export class Counted {
  readonly measured: Measured;
  private readonly counts = new Map<string, { labels: Record<string, string>; value: number }>();

  constructor(named: Pick<Measured, 'name' | 'help' | 'labelNames'>) {
    this.measured = { ...named, isCounter: true, read: () => Promise.resolve([...this.counts.values()]) };
  }

  add(labels: Record<string, string>, amount = 1): void {
    const key = this.measured.labelNames.map((name) => labels[name]).join(' ');
    this.counts.set(key, { labels, value: (this.counts.get(key)?.value ?? 0) + amount });
  }
}

/** How long something took, as a histogram in seconds. */
export class CountedTimes {
  readonly measured: Measured;
  private readonly counts: number[];
  private sum = 0;

  /** @param upToSeconds the upper ends of the buckets, in ascending order */
  constructor(
    named: Pick<Measured, 'name' | 'help'>,
    private readonly upToSeconds: readonly number[],
  ) {
    this.counts = [...upToSeconds, Infinity].map(() => 0);
    this.measured = { ...named, labelNames: [], isHistogram: true, read: () => Promise.resolve(this.values()) };
  }

  add(seconds: number): void {
    const found = this.upToSeconds.findIndex((end) => seconds <= end);
    const bucket = found === -1 ? this.upToSeconds.length : found;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += seconds;
  }

  private values(): MeasuredValue[] {
    let total = 0;
    const buckets = this.counts.map((count, at): MeasuredValue => {
      const le = String(this.upToSeconds[at] ?? '+Inf');
      return { labels: { le }, value: (total += count), suffix: '_bucket' };
    });
    const sums = { _sum: this.sum, _count: total };
    const rest = (['_sum', '_count'] as const).map((suffix) => ({ labels: {}, value: sums[suffix], suffix }));
    return [...buckets, ...rest];
  }
}

export const measure = (registry: Registry, measured: readonly Measured[]): void => {
  for (const { read, labelNames, isCounter, isHistogram, ...named } of measured) {
    if (isHistogram) {
      registry.registerMetric(new ReadHistogram(named, read));
      continue;
    }
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

/** A histogram whose values are counted elsewhere. prom-client's own takes single observations only. */
class ReadHistogram extends Gauge {
  constructor(
    private readonly named: Pick<Measured, 'name' | 'help'>,
    private readonly readValues: Measured['read'],
  ) {
    super({ ...named, registers: [] });
  }

  override async get(): ReturnType<Gauge['get']> {
    const { name } = this.named;
    const read = (await inTime(this.readValues, ANSWER_WITHIN_MS)) ?? [];
    const values = read.map(({ suffix = '', ...value }) => ({ ...value, metricName: name + suffix }));
    // prom-client's types say that it is a number, and it is this text.
    return { ...(await super.get()), type: 'histogram' as unknown as MetricType, values };
  }
}
