import type { Logger } from 'pino';
import type { z } from 'zod';
import { hasEnded, THIS_PROCESS } from '../loops/lease-holder.ts';
import { pollLoop } from '../loops/poll-loop.ts';
import type { SupervisedLoop } from '../loops/supervised-loop.ts';
import type { Clock } from '../primitives/clock.ts';
import { untilAborted } from '../primitives/waiting/until-aborted.ts';
import type { Coordination } from './coordination.ts';

const LOOK_EVERY_MS = 1_000;
/** A process without an announcement for this long may have ended, or been stopped. */
const SILENT_AFTER_MS = 5_000;
/** After this time, a silent process is dropped from the list. */
const FORGOTTEN_AFTER_MS = 30_000;

export interface Member<Document> {
  id: string;
  document: Document;
  /**
   * Whether the process is known to live: it is this process, or it renewed its announcement since it was first seen
   * here, and within the last seconds.
   */
  isAlive: boolean;
  /**
   * Whether the process ended, or was silent for some seconds. A process seen only once is neither alive nor silent.
   */
  isSilent: boolean;
}

interface Seen<Document> {
  document: Document;
  renewals: number;
  /** By the clock of this process. */
  changedAt: number;
  hasChanged: boolean;
}

interface MembersOptions<Schema extends z.ZodType> {
  /** The kind of announcement, and the name of the loop. */
  kind: string;
  schema: Schema;
  readStore: Pick<Coordination, 'announcements' | 'withdraw'>;
  clock: Pick<Clock, 'elapsed'>;
  logger: Logger;
}

/**
 * Tracks the processes that announce themselves. Never compares two clocks: each process measures another's silence
 * with its own. A process that ended without withdrawing is dropped after half a minute.
 */
export class Members<Schema extends z.ZodType> {
  readonly loop: SupervisedLoop;
  private seen = new Map<string, Seen<z.output<Schema>>>();
  private lookedAt = -Infinity;

  constructor(private readonly options: MembersOptions<Schema>) {
    this.loop = pollLoop(`watching ${options.kind}`, options.logger, LOOK_EVERY_MS, (signal) =>
      untilAborted(this.look(), signal),
    );
  }

  /**
   * Returns the processes by id, at most a second old; reads them if the loop is late.
   * @throws Refusal dependency_unavailable
   */
  async current(): Promise<Member<z.output<Schema>>[]> {
    if (this.options.clock.elapsed() - this.lookedAt >= SILENT_AFTER_MS) await this.look();
    return this.known();
  }

  /** Finds an announcement, including those of the last second. @throws Refusal dependency_unavailable */
  async find(isWanted: (document: z.output<Schema>) => boolean): Promise<z.output<Schema> | undefined> {
    const found = () => this.known().find(({ document }) => isWanted(document))?.document;
    const known = found();
    if (known !== undefined) return known;
    await this.look();
    return found();
  }

  /** Returns the processes as they were last seen. */
  known(): Member<z.output<Schema>>[] {
    return Array.from(this.seen, ([id, { document, hasChanged, changedAt }]) => {
      const isSilent = this.silentMs(changedAt) >= SILENT_AFTER_MS || hasEnded(id);
      return { id, document, isAlive: hasChanged && !isSilent, isSilent };
    });
  }

  /** Reads the current announcements. @throws Refusal dependency_unavailable */
  async look(): Promise<void> {
    const { kind, schema, readStore, clock } = this.options;
    const found = await readStore.announcements(kind);
    this.lookedAt = clock.elapsed();
    const seen: typeof this.seen = new Map();
    for (const { id, renewals, document } of found) {
      const before = this.seen.get(id);
      const parsed = schema.safeParse(document);
      // A process need not renew what it announces to itself.
      const hasChanged = id === THIS_PROCESS || (before !== undefined && before.renewals !== renewals);
      const changedAt = before && !hasChanged ? before.changedAt : this.lookedAt;
      if (this.silentMs(changedAt) >= FORGOTTEN_AFTER_MS) await readStore.withdraw(kind, { id, renewals });
      // Announcements of another version may not parse; they are ignored.
      else if (parsed.success)
        seen.set(id, {
          document: parsed.data,
          renewals,
          changedAt,
          hasChanged: hasChanged || before?.hasChanged === true,
        });
    }
    this.seen = seen;
  }

  private silentMs(changedAt: number): number {
    return this.options.clock.elapsed() - changedAt;
  }
}
