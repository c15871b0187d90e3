import { appStream } from '../../../schemas/events/app-events.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import { KeptValues } from '../../../shared/primitives/kept-values.ts';
import { appFold, appIdOf, liveApp, type App } from '../domain/app.ts';

const CACHED_MS = 1_000;
const APPS_MAX = 1_000;

/** Finds apps. It reads the event store and not a read model, so that a new app can log in at once. */
export class Apps {
  private readonly cache: KeptValues<App>;

  constructor(private readonly transactor: Transactor) {
    this.cache = new KeptValues(transactor.clock, { max: APPS_MAX, keptMs: CACHED_MS });
  }

  /**
   * An answer may be one second old; that an app does not exist is not cached.
   * @throws Refusal api_key_unknown, app_revoked
   */
  async live(apiKey: string): Promise<App> {
    return knownAndLive(await this.byId(appIdOf(apiKey)));
  }

  /** Likewise, as it is at this moment: a key that was made a moment ago is known. */
  async liveNow(apiKey: string): Promise<App> {
    const { state } = await this.transactor.load(appStream(appIdOf(apiKey)), appFold);
    return knownAndLive(state);
  }

  /** Likewise. @throws Refusal app_revoked */
  async liveById(appId: string): Promise<App> {
    return liveApp(await this.byId(appId));
  }

  /** Likewise: returns a third party's app, whose sessions see only what came through it; `undefined` of any other. */
  async onlyOf(appId: string): Promise<string | undefined> {
    return (await this.byId(appId))?.isThirdParty ? appId : undefined;
  }

  /** @throws Refusal forbidden, of a third party's app */
  async requireTrusted(appId: string): Promise<void> {
    if ((await this.onlyOf(appId)) !== undefined)
      throw new Refusal(
        'forbidden',
        'a session of this app may not do that: sign in at an app that the operator trusts',
      );
  }

  private async byId(appId: string): Promise<App | undefined> {
    const now = this.transactor.clock.elapsed();
    const cached = this.cache.get(appId);
    if (cached) return cached;
    const { state: app } = await this.transactor.load(appStream(appId), appFold);
    if (app) this.cache.set(appId, app, now);
    return app;
  }
}

const knownAndLive = (app: App | undefined): App => {
  if (!app) throw new Refusal('api_key_unknown', 'no app has this key');
  return liveApp(app);
};
