import { randomUUID } from 'node:crypto';
import type { Collection } from 'mongodb';
import type { Logger } from 'pino';
import { CannotStart } from '../../errors/cannot-start.ts';
import { hasEnded, THIS_PROCESS } from '../../loops/lease-holder.ts';
import { pause } from '../../primitives/waiting/pause.ts';
import type { MongoDatabase } from '../../read-store/mongodb/mongo-database.mongo.ts';
import { unlessDuplicate } from '../../read-store/mongodb/mongo-answers.mongo.ts';

/** How often a process renews its entry. */
const RENEW_MS = 1_000;
/** An entry that was not renewed for this long, by the observer's own clock, belongs to a process that was killed. */
const LOST_AFTER_MS = 6_000;
const LOOK_EVERY_MS = 250;

/** The entry id of a process that has the vault alone. Other entries have ids of their own. */
const ALONE = 'alone';
interface Entry {
  _id: string;
  holder: string;
  renewals: number;
}

/**
 * The processes that use a vault on MongoDB, so that a process which needs it alone detects the others. Each process
 * writes its own entry first and looks for others afterwards, so of two concurrent ones at least one sees the other.
 */
export class VaultUsers {
  private entry: string | undefined;
  private renewing: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: MongoDatabase,
    private readonly logger: Logger,
  ) {}

  /** @throws CannotStart */
  async use(how: 'shared' | 'alone'): Promise<void> {
    if (how === 'alone') await this.waitForEnd(ALONE);
    const entry = how === 'alone' ? ALONE : `${THIS_PROCESS}/${randomUUID()}`;
    if (!(await this.enter(entry))) throw inUse(ALONE);
    this.entry = entry;
    this.renewing = setInterval(() => {
      this.renew(entry).catch((err: unknown) => {
        this.logger.warn({ err }, 'this process could not renew its entry in the key vault');
      });
    }, RENEW_MS).unref();
    if (how === 'shared') return this.waitForEnd(ALONE);
    const others = await this.database.withDeadline(this.entries.find({ _id: { $ne: ALONE } }).toArray());
    await Promise.all(others.map(({ _id }) => this.waitForEnd(_id)));
  }

  async leave(): Promise<void> {
    clearInterval(this.renewing);
    if (this.entry === undefined) return;
    try {
      await this.database.withDeadline(this.entries.deleteOne({ _id: this.entry, holder: THIS_PROCESS }));
    } catch (err) {
      this.logger.debug({ err }, 'the key vault takes this process for one that was killed');
    }
  }

  private async enter(entry: string): Promise<boolean> {
    const inserted = this.entries.insertOne({ _id: entry, holder: THIS_PROCESS, renewals: 0 });
    return this.database.withDeadline(inserted.then(() => true, unlessDuplicate(false)));
  }

  private async renew(entry: string): Promise<void> {
    await this.database.withDeadline(
      this.entries.updateOne({ _id: entry, holder: THIS_PROCESS }, { $inc: { renewals: 1 } }, { upsert: true }),
    );
  }

  /**
   * Waits until an entry is gone, and removes it if its process was killed.
   * @throws CannotStart as soon as the entry is renewed
   */
  private async waitForEnd(entry: string): Promise<void> {
    const first = await this.find(entry);
    const giveUpAt = performance.now() + LOST_AFTER_MS;
    for (let now = first; now; now = await this.find(entry)) {
      if (now.holder !== first?.holder || now.renewals !== first.renewals) throw inUse(entry);
      if (hasEnded(now.holder) || performance.now() >= giveUpAt) {
        const { holder, renewals } = now;
        await this.database.withDeadline(this.entries.deleteOne({ _id: entry, holder, renewals }));
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  private find(entry: string): Promise<Entry | null> {
    return this.database.withDeadline(this.entries.findOne({ _id: entry }));
  }

  private get entries(): Collection<Entry> {
    return this.database.db.collection<Entry>('processes');
  }
}

const inUse = (entry: string): CannotStart =>
  new CannotStart(
    entry === ALONE
      ? 'the key vault is used by a command that needs it alone: wait until it has ended'
      : 'other processes use the key vault, which this needs alone: stop every account and projector process, and repeat',
  );
