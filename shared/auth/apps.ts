import { appStream } from '../../schemas/events/account/app-events.ts';
import { Refusal } from '../errors/refusal.ts';
import type { Transactor } from '../event-store/transactions/transact.ts';
import { TtlCache } from '../primitives/ttl-cache.ts';
import { appFold, appIdOf, liveApp, type App } from './app.ts';

const CACHED_MS = 1_000;
const APPS_MAX = 1_000;

/** Finds apps. Reads the event store instead of a read model, so that a new app can log in at once. */
export class Apps {
  private readonly cache: TtlCache<App>;

  constructor(private readonly transactor: Transactor) {
    this.cache = new TtlCache(transactor.clock, { max: APPS_MAX, ttlMs: CACHED_MS });
  }

  /**
   * The answer may be one second old, but the absence of an app is not cached.
   * @throws Refusal api_key_unknown, app_revoked
   */
  async live(apiKey: string): Promise<App> {
    return knownAndLive(await this.byId(appIdOf(apiKey)));
  }

  /** Like `live`, without the cache: knows a key that was made a moment ago. */
  async liveNow(apiKey: string): Promise<App> {
    const { state } = await this.transactor.load(appStream(appIdOf(apiKey)), appFold);
    return knownAndLive(state);
  }

  /** Like `live`, by app id. @throws Refusal app_revoked */
  async liveById(appId: string): Promise<App> {
    return liveApp(await this.byId(appId));
  }

  /**
   * Returns the id if it is a third party's app, whose sessions see only what came through that app; `undefined` for
   * any other. Cached like `live`.
   */
  async onlyOf(appId: string): Promise<string | undefined> {
    return (await this.byId(appId))?.isThirdParty ? appId : undefined;
  }

  /** @throws Refusal forbidden, for a third party's app */
  async requireTrusted(appId: string): Promise<void> {
    if ((await this.onlyOf(appId)) !== undefined)
      throw new Refusal(
        'forbidden',
        'a session of this app may not do that: sign in at an app that the operator trusts',
      );
  }

  private byId(appId: string): Promise<App | undefined> {
    return this.cache.getOrAsk(appId, async () => (await this.transactor.load(appStream(appId), appFold)).state);
  }
}

const knownAndLive = (app: App | undefined): App => {
  if (!app) throw new Refusal('api_key_unknown', 'no app has this key');
  return liveApp(app);
};
