import { Inject, Injectable } from '@nestjs/common';
import { appDocument } from '../../schemas/read-models/apps.ts';
import { readModels } from '../../schemas/read-models/catalogue.ts';
import type { Clock } from '../primitives/clock.ts';
import type { ReadStore } from '../read-store/read-store.ts';
import { CLOCK, READ_STORE } from './tokens.ts';

const KEPT_MS = 1_000;
const PAGE = 1_000;

/** The origins that some live app allows, not older than a second. */
@Injectable()
export class AppOrigins {
  private kept: { origins: Promise<Set<string>>; until: number } | undefined;

  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async allow(origin: string): Promise<boolean> {
    const now = this.clock.now();
    if (!this.kept || this.kept.until <= now) {
      const origins = this.read();
      this.kept = { origins, until: now + KEPT_MS };
      origins.catch(() => {
        this.kept = undefined;
      });
    }
    return (await this.kept.origins).has(origin);
  }

  private async read(): Promise<Set<string>> {
    const origins = new Set<string>();
    for (let skip = 0; ; skip += PAGE) {
      const { collection } = readModels.apps;
      const page = await this.readStore.find(collection, { sort: [['id', 'asc']], skip, limit: PAGE });
      for (const { document } of page) appDocument.parse(document).origins.forEach((origin) => origins.add(origin));
      if (page.length < PAGE) return origins;
    }
  }
}
