import { appEvents, appStream } from '../../schemas/events/app-events.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Clock } from '../primitives/clock.ts';
import { KeptValues } from '../primitives/kept-values.ts';
import { inTime } from '../primitives/in-time.ts';
import { appsModel, type AppDocument } from '../read-models/apps.ts';
import type { ReadStore } from '../read-store/read-store.ts';

const { app } = appsModel.collections;
/** Together less than the 2 s within which tokens of a revoked app must be refused. */
const KEPT_MS = 1_000;
const TOLD_WITHIN_MS = 500;
const APPS_MAX = 1_000;

/** A server key by the address that a token names. */
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
 * Tells which apps and server keys were revoked, less than 2 s late: the last event of an app's stream is its end. While the
 * event store is away the read model decides. An app without events was not revoked; a server key that is unknown was.
 */
export class AppEnds {
  private readonly kept: KeptValues<boolean>;
  private readonly keptKeys: KeptValues<boolean>;

  constructor(private readonly stores: AppEndsOptions) {
    this.kept = new KeptValues(stores.clock, { max: APPS_MAX, keptMs: KEPT_MS });
    this.keptKeys = new KeptValues(stores.clock, { max: APPS_MAX, keptMs: KEPT_MS });
  }

  async isRevoked(appId: string): Promise<boolean> {
    return this.told(this.kept, appId, {
      byStream: () => this.isRevokedInStream(appId),
      byReadModel: async () => (await this.inReadModel(appId))?.revokedAt != null,
    });
  }

  async isServerKeyRevoked({ appId, signer }: ServerKey): Promise<boolean> {
    return this.told(this.keptKeys, `${appId} ${signer}`, {
      byStream: () => this.isServerKeyRevokedInStream({ appId, signer }),
      byReadModel: async () => {
        const found = await this.inReadModel(appId);
        return signer !== found?.serverSigner && signer !== found?.formerServerSigner;
      },
    });
  }

  /** Returns those of the apps that were revoked. */
  async revokedOf(appIds: readonly string[]): Promise<Set<string>> {
    const revoked = await Promise.all(appIds.map((appId) => this.isRevoked(appId)));
    return new Set(appIds.filter((_, at) => revoked[at]));
  }

  private async told(
    kept: KeptValues<boolean>,
    key: string,
    { byStream, byReadModel }: Record<'byStream' | 'byReadModel', () => Promise<boolean>>,
  ): Promise<boolean> {
    const now = this.stores.clock.elapsed();
    const known = kept.get(key);
    if (known !== undefined) return known;
    const revoked = (await inTime(byStream, TOLD_WITHIN_MS)) ?? (await byReadModel());
    kept.set(key, revoked, now);
    return revoked;
  }

  private async isRevokedInStream(appId: string): Promise<boolean> {
    const [last] = await this.stores.eventStore.read(appStream(appId), { direction: 'backwards', limit: 1 });
    return last?.type === 'AppRevoked';
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
