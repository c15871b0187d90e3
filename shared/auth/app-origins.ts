import { Refusal } from '../errors/refusal.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import type { Clock } from '../primitives/clock.ts';
import { appsModel, type AppDocument } from '../read-models/account/apps.ts';
import { getOrLoad, TtlCache } from '../primitives/ttl-cache.ts';
import type { ReadStore } from '../read-store/read-store.ts';

const { app } = appsModel.collections;
const CACHED_MS = 1_000;
const PAGE = 1_000;

const SHOWN_CHARACTERS_MAX = 200;

/** @param appId the app that does not allow the origin; without it, no app does */
export const originNotAllowed = (origin: string, appId?: string): Refusal => {
  const shown = origin.slice(0, SHOWN_CHARACTERS_MAX);
  const who = appId === undefined ? 'no app allows' : 'the app does not allow';
  const mend = `annals app allow-origin ${appId ?? '<app id>'} ${shown}`;
  return new Refusal('origin_not_allowed', `${who} the origin ${shown}; an operator allows it with: ${mend}`);
};

/** The origins that at least one live app allows, at most a second old. */
export class AppOrigins {
  private readonly cache: TtlCache<Promise<Set<string>>>;

  constructor(
    private readonly readStore: ReadStore,
    clock: Clock,
  ) {
    this.cache = new TtlCache(clock, { max: 1, ttlMs: CACHED_MS });
  }

  /** @throws CannotStart if an app allows every origin, or all that match a pattern */
  async refuseWildcards(): Promise<void> {
    for await (const { id, name, origins } of this.liveApps()) {
      const wildcard = origins.find((origin) => origin.includes('*'));
      if (wildcard === undefined) continue;
      const mend = `annals app revoke ${id}, and annals app create with the origins of its pages`;
      throw new CannotStart(`app ${id} (${name}) allows the origin ${wildcard}, which production does not: ${mend}`);
    }
  }

  async allow(origin: string): Promise<boolean> {
    return (await getOrLoad(this.cache, '', () => this.read())).has(origin);
  }

  private async read(): Promise<Set<string>> {
    const allowed = new Set<string>();
    for await (const { origins } of this.liveApps()) origins.forEach((origin) => allowed.add(origin));
    return allowed;
  }

  private async *liveApps(): AsyncGenerator<AppDocument> {
    for (let skip = 0; ; skip += PAGE) {
      const page = await this.readStore.find(app.name, { sort: [['id', 'asc']], skip, limit: PAGE });
      const apps = page.map(({ document }) => app.document.parse(document));
      yield* apps.filter(({ revokedAt }) => revokedAt === null);
      if (page.length < PAGE) return;
    }
  }
}
