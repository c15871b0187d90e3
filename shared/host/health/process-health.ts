import type { HealthReport } from './health.ts';
import type { RunningPart } from '../running-part.ts';

/** Cache time, so that frequent probes share one check. */
const KEPT_MS = 1_000;

export interface ReadyAnswer {
  status: 200 | 503;
  body: object;
}

type Parts = Readonly<Record<string, Pick<RunningPart, 'health'>>>;

/** The answer of `/health/ready` of a process, the same on each of its ports, cached for a second. */
export class ProcessHealth {
  private parts: Parts | undefined;
  private kept: Promise<ReadyAnswer> | undefined;

  /** From now on the process is ready when all these parts are. Before, it is starting. */
  report(parts: Parts): void {
    this.parts = parts;
    this.kept = undefined;
  }

  ready(): Promise<ReadyAnswer> {
    if (this.kept) return this.kept;
    const kept = this.ask().catch((): ReadyAnswer => notReady(['it is not known']));
    this.kept = kept;
    void kept.then(() => {
      setTimeout(() => {
        if (this.kept === kept) this.kept = undefined;
      }, KEPT_MS).unref();
    });
    return kept;
  }

  private async ask(): Promise<ReadyAnswer> {
    if (!this.parts) return notReady(['it is starting']);
    const reports = await Promise.all(
      Object.entries(this.parts).map(async ([name, { health }]) => [name, await health()] as const),
    );
    const reasons = reports.flatMap(([name, report]) => reasonsOf(report).map((reason) => `${name}: ${reason}`));
    const [first] = reports;
    const rest =
      first && reports.length === 1
        ? partOf(first[1])
        : { parts: Object.fromEntries(reports.map(([name, report]) => [name, partOf(report)])) };
    return reasons.length === 0 ? { status: 200, body: { status: 'ready', ...rest } } : notReady(reasons, rest);
  }
}

const notReady = (reasons: string[], rest: object = {}): ReadyAnswer => ({
  status: 503,
  body: { status: 'not_ready', reasons, ...rest },
});

const partOf = ({ dependencies, conditions }: HealthReport) => ({ dependencies, ...conditions });

const reasonsOf = ({ dependencies, conditions }: HealthReport): string[] => [
  ...Object.entries(dependencies).flatMap(([name, state]) => (state === 'up' ? [] : `${name} is down`)),
  ...Object.entries(conditions).flatMap(([name, isMet]) => (isMet ? [] : `not ${name}`)),
];
