import { MongoClient, MongoError, MongoServerError, type Db, type WriteConcern } from 'mongodb';
import type { Settings } from '../../config/settings.ts';
import { CannotStart, DoesNotAnswer } from '../../errors/cannot-start.ts';
import { Refusal } from '../../errors/refusal.ts';
import type { Logger } from 'pino';
import { inTime } from '../../primitives/waiting/in-time.ts';
import { DeadlineExceeded } from '../../primitives/waiting/within-deadline.ts';
import { answered, beforeDeadline } from './mongo-answers.mongo.ts';

export interface MongoOptions {
  settings: Pick<Settings, 'MONGO_DATABASE' | 'NODE_ENV'> & { MONGO_URL: string };
  logger: Logger;
  /** Default: `mongoLimits`. */
  limits?: Partial<MongoLimits>;
}

interface MongoLimits {
  /** Our own deadline for a call: the driver's `timeoutMS` has had no effect since 7.0. */
  answerMs: number;
  /** With no server available, a call ends after this time, plus the rest for a request in progress. */
  selectionMs: number;
  /** How long a client reaches no server before it is replaced. */
  replacedAfterMs: number;
}

const mongoLimits: MongoLimits = {
  answerMs: 4_500,
  selectionMs: 3_000,
  // Two heartbeats, so longer than the driver needs to find a server that is back.
  replacedAfterMs: 10_000,
};

/** How soon a hanging server is detected, and its pending requests are ended. */
const HEARTBEAT_MS = 5_000;
const POOL_MAX = 20;
const CLOSE_WITHIN_MS = 2_000;
const UNAUTHORIZED = 13;

/**
 * A database whose client is replaced after it has reached no server for 10 s and a new client can. The driver (seen
 * with 7.8.0) can stop looking for a server whose connections were reset, and then never finds it again.
 */
export class MongoDatabase {
  private unreachableSince: number | undefined;
  private isReplacing = false;
  private isClosed = false;
  private readonly limits: MongoLimits;

  constructor(
    private client: MongoClient,
    private readonly options: MongoOptions,
  ) {
    this.limits = limitsOf(options);
  }

  get db(): Db {
    const { w = 'majority', journal } = this.client.writeConcern ?? {};
    const writeConcern = { w, ...(journal !== undefined && { journal }) };
    return this.client.db(this.options.settings.MONGO_DATABASE, { writeConcern });
  }

  /** Returns the answer to a call of this database. @throws as `answered` does */
  async withDeadline<Answer>(call: Promise<Answer>): Promise<Answer> {
    try {
      const answer = await answered(call, this.limits.answerMs);
      this.unreachableSince = undefined;
      return answer;
    } catch (error) {
      if (error instanceof Refusal) this.notReached();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await close(this.client);
  }

  private notReached(): void {
    const now = performance.now();
    this.unreachableSince ??= now;
    if (this.isReplacing || now - this.unreachableSince < this.limits.replacedAfterMs) return;
    this.isReplacing = true;
    void this.replaceClient();
  }

  /** Replaces the client with one that has reached a server: a client whose first connection fails stays unusable. */
  private async replaceClient(): Promise<void> {
    const { logger } = this.options;
    const fresh = clientOf(this.options);
    try {
      await fresh.connect();
      const old = this.client;
      if (!this.isClosed) this.client = fresh;
      await close(this.isClosed ? fresh : old);
    } catch (err) {
      logger.debug({ err }, 'a new MongoDB client reaches no server either');
      await close(fresh);
    } finally {
      this.unreachableSince = undefined;
      this.isReplacing = false;
    }
  }
}

/** Closes a client, without waiting long for a server that hangs. */
const close = async (client: MongoClient): Promise<void> => {
  await inTime(() => client.close(), CLOSE_WITHIN_MS);
};

/**
 * Connects, and checks what every write relies on: that it is allowed, and that it is acknowledged only once a majority
 * has it. Reads return only what a majority has, so nothing that was read is ever rolled back.
 * @throws CannotStart
 */
export const openDatabase = async (options: MongoOptions): Promise<MongoDatabase> => {
  const client = clientOf(options);
  try {
    await connect(client);
    await requireMajority(client, options);
    const database = new MongoDatabase(client, options);
    await requireWritable(database.db, limitsOf(options).answerMs);
    return database;
  } catch (error) {
    await client.close();
    throw error;
  }
};

const limitsOf = ({ limits }: MongoOptions): MongoLimits => ({ ...mongoLimits, ...limits });

const clientOf = (options: MongoOptions): MongoClient => {
  const { selectionMs } = limitsOf(options);
  try {
    return new MongoClient(options.settings.MONGO_URL, {
      appName: 'annals',
      readConcernLevel: 'majority',
      readPreference: 'primary',
      ignoreUndefined: true,
      maxPoolSize: POOL_MAX,
      waitQueueTimeoutMS: selectionMs,
      serverSelectionTimeoutMS: selectionMs,
      connectTimeoutMS: selectionMs,
      heartbeatFrequencyMS: HEARTBEAT_MS,
    });
  } catch (error) {
    // Some messages of the parser quote the URL, and with it the password.
    const reason = error instanceof Error && !error.message.includes('://') ? `: ${error.message}` : '';
    throw new CannotStart(`MONGO_URL: the driver cannot read it${reason}`);
  }
};

const connect = async (client: MongoClient): Promise<void> => {
  try {
    await client.connect();
  } catch (cause) {
    const { srvHost, hosts, replicaSet } = client.options;
    const where = srvHost ?? hosts.join(', ');
    const as = replicaSet ? ` as the replica set ${replicaSet}` : '';
    // The server was reached, so it can only have refused the credentials.
    if (cause instanceof MongoServerError) {
      throw new CannotStart(`MONGO_URL: ${where} does not accept the user name and password`, { cause });
    }
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DoesNotAnswer(`MONGO_URL: no MongoDB answers at ${where}${as} (${reason})`, { cause });
  }
};

const requireMajority = async (client: MongoClient, options: MongoOptions): Promise<void> => {
  const { settings, logger } = options;
  // Without acknowledgement, nothing could tell which process holds a lease.
  if (client.writeConcern?.w === 0)
    throw new CannotStart('MONGO_URL: w=0 leaves writes unacknowledged: set w=majority');
  const weakness = weaknessOf(client.writeConcern) ?? (await weakDefault(client, limitsOf(options).answerMs));
  if (weakness === undefined) return;
  const message = `MONGO_URL: an acknowledged write can be lost, ${weakness}`;
  if (settings.NODE_ENV === 'production') throw new CannotStart(message);
  logger.warn(message);
};

const weaknessOf = (writeConcern: WriteConcern | undefined): string | undefined => {
  const w = writeConcern?.w;
  if (w !== undefined && w !== 'majority') return `because w is ${String(w)}: set w=majority`;
  return writeConcern?.journal === false ? 'because journal is false: remove that option' : undefined;
};

/**
 * Describes the server's default write concern when it is below majority: with an arbiter, or because it was set so.
 */
const weakDefault = async (client: MongoClient, answerMs: number): Promise<string | undefined> => {
  if (client.writeConcern?.w === 'majority') return undefined;
  try {
    const answer = await beforeDeadline(client.db('admin').command({ getDefaultRWConcern: 1 }), answerMs);
    const w = (answer['defaultWriteConcern'] as { w?: unknown } | undefined)?.w;
    return w === undefined || w === 'majority'
      ? undefined
      : `because the server's default write concern is ${JSON.stringify(w)}: set w=majority`;
  } catch (error) {
    // A single server has none, and the user may not be allowed to query it; the first write shows whether the server
    // answers.
    if (error instanceof MongoError || error instanceof DeadlineExceeded) return undefined;
    throw error;
  }
};

/** Checks with a write that matches no document. */
const requireWritable = async (database: Db, answerMs: number): Promise<void> => {
  try {
    const nothing = { _id: '' };
    await beforeDeadline(
      database.collection<{ _id: string }>('_leases').updateOne(nothing, { $set: { holder: null } }),
      answerMs,
    );
  } catch (cause) {
    const reason = reasonOf(cause);
    if (reason === undefined) throw cause;
    const Failure = cause instanceof MongoServerError ? CannotStart : DoesNotAnswer;
    throw new Failure(`MONGO_URL: cannot write to the database ${database.databaseName}: ${reason}`, { cause });
  }
};

const reasonOf = (error: unknown): string | undefined => {
  if (error instanceof MongoServerError)
    return error.code === UNAUTHORIZED ? 'the user is not authorized' : error.codeName;
  return error instanceof MongoError || error instanceof DeadlineExceeded ? error.message : undefined;
};
