import { LRUCache } from 'lru-cache';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import { appFold, appIdOf, appStream, type App } from '../domain/app.ts';

const KEPT_MS = 1_000;
const APPS_MAX = 1_000;

/** Finds apps by key in the event store itself: a new app can log in at once. */
export class Apps {
  private readonly kept = new LRUCache<string, { app: App; until: number }>({ max: APPS_MAX });

  constructor(private readonly transactor: Transactor) {}

  /** Not older than a second; `undefined` is never remembered. */
  async byKey(apiKey: string): Promise<App | undefined> {
    const now = this.transactor.clock.now();
    const kept = this.kept.get(apiKey);
    if (kept && kept.until > now) return kept.app;
    const { state: app } = await this.transactor.load(appStream(appIdOf(apiKey)), appFold);
    if (app) this.kept.set(apiKey, { app, until: now + KEPT_MS });
    return app;
  }
}
