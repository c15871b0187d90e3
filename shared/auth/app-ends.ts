import { appEvents, appStream } from '../../schemas/events/account/app-events.ts';
import type { EventStore, Position, StoredEvent } from '../event-store/event-store.ts';
import type { Clock } from '../primitives/clock.ts';
import { TtlCache } from '../primitives/ttl-cache.ts';
import { inTime } from '../primitives/waiting/in-time.ts';
import { appsModel, type AppDocument } from '../read-models/account/apps.ts';
import type { ReadStore } from '../read-store/read-store.ts';

const { app } = appsModel.collections;
/** Cache time and timeout. Together less than the 2 s within which tokens of a revoked app must be refused. */
const KEPT_MS = 1_000;
const TOLD_WITHIN_MS = 500;
const APPS_MAX = 1_000;

/** A server key, identified by the address that a token names. */
export interface ServerKey {
  appId: string;
  signer: string;
}

interface AppEndsOptions {
  readStore: Pick<ReadStore, 'getMany'>;
  eventStore: Pick<EventStore, 'read'>;
  clock: Clock;
}

/**
 * Tells which apps and server keys were revoked, less than 2 s late: an app is revoked if the last event of its stream
 * says so. Falls back to the read model while the event store is down. An app without events counts as live; an unknown
 * server key counts as revoked.
 */
export class AppEnds {
  private readonly kept: TtlCache<boolean>;
  private readonly keptKeys: TtlCache<boolean>;

  constructor(private readonly stores: AppEndsOptions) {
    this.kept = new TtlCache(stores.clock, { max: APPS_MAX, ttlMs: KEPT_MS });
    this.keptKeys = new TtlCache(stores.clock, { max: APPS_MAX, ttlMs: KEPT_MS });
  }

  isRevoked(appId: string): Promise<boolean> {
    return this.kept.getOrAsk(appId, async () => {
      const told = await inTime(() => this.isRevokedInStream(appId), TOLD_WITHIN_MS);
      return told ?? (await this.inReadModel(appId))?.revokedAt != null;
    });
  }

  isServerKeyRevoked({ appId, signer }: ServerKey): Promise<boolean> {
    return this.keptKeys.getOrAsk(`${appId} ${signer}`, async () => {
      const told = await inTime(() => this.isServerKeyRevokedInStream({ appId, signer }), TOLD_WITHIN_MS);
      if (told !== undefined) return told;
      const found = await this.inReadModel(appId);
      return signer !== found?.serverSigner && signer !== found?.formerServerSigner;
    });
  }

  /** Returns the revoked ones of these apps. */
  async revokedOf(appIds: readonly string[]): Promise<Set<string>> {
    const revoked = await Promise.all(appIds.map((appId) => this.isRevoked(appId)));
    return new Set(appIds.filter((_, at) => revoked[at]));
  }

  /** Returns those of these apps that had been revoked at a position. */
  async revokedBy(appIds: readonly string[], position: Position): Promise<Set<string>> {
    const ends = await Promise.all(appIds.map((appId) => this.endOf(appId)));
    return new Set(appIds.filter((_, at) => (ends[at]?.position ?? Infinity) <= position));
  }

  private async isRevokedInStream(appId: string): Promise<boolean> {
    return (await this.endOf(appId)) !== undefined;
  }

  /** Returns the event by which an app was revoked, which is the last of its stream. */
  private async endOf(appId: string): Promise<StoredEvent | undefined> {
    const [last] = await this.stores.eventStore.read(appStream(appId), { direction: 'backwards', limit: 1 });
    return last?.type === 'AppRevoked' ? last : undefined;
  }

  /** The last event about the key decides. */
  private async isServerKeyRevokedInStream({ appId, signer }: ServerKey): Promise<boolean> {
    const events = await this.stores.eventStore.read(appStream(appId), { direction: 'backwards' });
    const { AppServerKeyCreated, AppServerKeyRevoked } = appEvents;
    for (const { type, data } of events) {
      if (type === 'AppServerKeyCreated' && AppServerKeyCreated.data.parse(data).signer === signer) return false;
      if (type === 'AppServerKeyRevoked' && AppServerKeyRevoked.data.parse(data).signer === signer) return true;
    }
    return true;
  }

  private async inReadModel(appId: string): Promise<AppDocument | undefined> {
    const stored = (await this.stores.readStore.getMany(app.name, [appId])).get(appId);
    return stored && app.document.parse(stored.document);
  }
}
