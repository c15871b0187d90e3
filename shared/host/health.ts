import { Inject, Injectable } from '@nestjs/common';
import { inTime } from '../primitives/in-time.ts';
import { Dependencies, type DependencyState } from './dependencies.ts';
import { READINESS } from './tokens.ts';

const CONDITION_MS = 1_000;

/** Further conditions of being ready, by name, such as "caught up". What cannot be told in a second does not hold. */
export type Readiness = Record<string, () => boolean | Promise<boolean>>;

export interface HealthReport {
  isReady: boolean;
  dependencies: Record<string, DependencyState>;
  conditions: Record<string, boolean>;
}

/** Whether a service can do its work now. */
@Injectable()
export class Health {
  constructor(
    private readonly dependencies: Dependencies,
    @Inject(READINESS) private readonly readiness: Readiness,
  ) {}

  async report(): Promise<HealthReport> {
    const holds = async ([name, ask]: [string, Readiness[string]]) =>
      [name, (await inTime(ask, CONDITION_MS)) ?? false] as const;
    const [dependencies, conditions] = await Promise.all([
      this.dependencies.probe(),
      Promise.all(Object.entries(this.readiness).map(holds)),
    ]);
    const isReady =
      Object.values(dependencies).every((state) => state === 'up') && conditions.every(([, isMet]) => isMet);
    return { isReady, dependencies, conditions: Object.fromEntries(conditions) };
  }
}
