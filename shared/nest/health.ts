import { Inject, Injectable } from '@nestjs/common';
import { Dependencies, type DependencyState } from './dependencies.ts';
import { READINESS } from './tokens.ts';

/** Further conditions of being ready, by name, such as "caught up". */
export type Readiness = Record<string, () => boolean>;

interface HealthReport {
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
    const dependencies = await this.dependencies.probe();
    const conditions = Object.fromEntries(Object.entries(this.readiness).map(([name, holds]) => [name, holds()]));
    const isReady =
      Object.values(dependencies).every((state) => state === 'up') && Object.values(conditions).every((holds) => holds);
    return { isReady, dependencies, conditions };
  }
}
