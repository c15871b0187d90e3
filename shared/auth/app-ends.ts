import { appStream } from '../../schemas/events/app-events.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Clock } from '../primitives/clock.ts';
import { KeptValues } from '../primitives/kept-values.ts';
import { inTime } from '../primitives/in-time.ts';
import { appsModel } from '../read-models/apps.ts';
import type { ReadStore } from '../read-store/read-store.ts';

const { app } = appsModel.collections;
/** Together less than the 2 s within which tokens of a revoked app must be refused. */
const KEPT_MS = 1_000;
const TOLD_WITHIN_MS = 500;
const APPS_MAX = 1_000;

interface AppEndsOptions {
  readStore: Pick<ReadStore, 'getMany'>;
  eventStore: Pick<EventStore, 'read'>;
  clock: Clock;
}

/**
 * Tells which apps were revoked, less than 2 s late: the last event of an app's stream is its end. While the event store is
 * away the read model decides. An app without events was not revoked.
 */
export class AppEnds {
  private readonly kept: KeptValues<boolean>;

  constructor(private readonly stores: AppEndsOptions) {
    this.kept = new KeptValues(stores.clock, { max: APPS_MAX, keptMs: KEPT_MS });
  }

  async isRevoked(appId: string): Promise<boolean> {
    const now = this.stores.clock.elapsed();
    const kept = this.kept.get(appId);
    if (kept !== undefined) return kept;
    const stored = await inTime(() => this.isRevokedInStream(appId), TOLD_WITHIN_MS);
    const revoked = stored ?? (await this.isRevokedInReadModel(appId));
    this.kept.set(appId, revoked, now);
    return revoked;
  }

  /** Returns those of the apps that were revoked. */
  async revokedOf(appIds: readonly string[]): Promise<Set<string>> {
    const revoked = await Promise.all(appIds.map((appId) => this.isRevoked(appId)));
    return new Set(appIds.filter((_, at) => revoked[at]));
  }

  private async isRevokedInStream(appId: string): Promise<boolean> {
    const [last] = await this.stores.eventStore.read(appStream(appId), { direction: 'backwards', limit: 1 });
    return last?.type === 'AppRevoked';
  }

  private async isRevokedInReadModel(appId: string): Promise<boolean> {
    const stored = (await this.stores.readStore.getMany(app.name, [appId])).get(appId);
    return stored !== undefined && app.document.parse(stored.document).revokedAt !== null;
  }
}
