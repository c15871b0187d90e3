import type { Logger } from 'pino';
import type { z } from 'zod';
import { hasEnded } from '../loops/lease-holder.ts';
import { SupervisedLoop } from '../loops/supervised-loop.ts';
import type { Clock } from '../primitives/clock.ts';
import { pause } from '../primitives/pause.ts';
import { untilAborted } from '../primitives/until-aborted.ts';
import type { ReadStore } from '../read-store/read-store.ts';

const LOOK_EVERY_MS = 1_000;
/** A process that announced nothing for so long may have ended, or been stopped. */
const SILENT_AFTER_MS = 5_000;
/** After that it is not listed any more. */
const FORGOTTEN_AFTER_MS = 30_000;

export interface Member<Document> {
  id: string;
  document: Document;
  /** Whether it is known to live: it renewed its announcement since it was first seen here, and within the last seconds. */
  isAlive: boolean;
  /** Whether it ended, or was silent for some seconds. One that was seen once only is neither alive nor silent. */
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
  /** What they announce, and the name of the loop. */
  kind: string;
  schema: Schema;
  readStore: Pick<ReadStore, 'announcements' | 'withdraw'>;
  clock: Pick<Clock, 'elapsed'>;
  logger: Logger;
}

/**
 * Knows the processes that announce themselves. No two clocks are compared: each process measures with its own how long
 * another has been silent. Who ended without a word is forgotten after half a minute.
 */
export class Members<Schema extends z.ZodType> {
  readonly loop: SupervisedLoop;
  private seen = new Map<string, Seen<z.output<Schema>>>();
  private lookedAt = -Infinity;

  constructor(private readonly options: MembersOptions<Schema>) {
    this.loop = new SupervisedLoop(`watching ${options.kind}`, options.logger, async (signal, reportRunning) => {
      while (!signal.aborted) {
        await untilAborted(this.look(), signal);
        reportRunning();
        await pause(LOOK_EVERY_MS, signal);
      }
    });
  }

  /** Returns them by id, as they were a second ago at most, or asks. @throws Refusal dependency_unavailable */
  async current(): Promise<Member<z.output<Schema>>[]> {
    if (this.options.clock.elapsed() - this.lookedAt >= SILENT_AFTER_MS) await this.look();
    return this.known();
  }

  /** Finds what one of them announced, also within the last second. @throws Refusal dependency_unavailable */
  async find(isWanted: (document: z.output<Schema>) => boolean): Promise<z.output<Schema> | undefined> {
    const found = () => this.known().find(({ document }) => isWanted(document))?.document;
    const known = found();
    if (known !== undefined) return known;
    await this.look();
    return found();
  }

  /** Returns them as they were when they were last seen. */
  known(): Member<z.output<Schema>>[] {
    return Array.from(this.seen, ([id, { document, hasChanged, changedAt }]) => {
      const isSilent = this.silentMs(changedAt) >= SILENT_AFTER_MS || hasEnded(id);
      return { id, document, isAlive: hasChanged && !isSilent, isSilent };
    });
  }

  /** Asks what they announce now. @throws Refusal dependency_unavailable */
  async look(): Promise<void> {
    const { kind, schema, readStore, clock } = this.options;
    const found = await readStore.announcements(kind);
    this.lookedAt = clock.elapsed();
    const seen: typeof this.seen = new Map();
    for (const { id, renewals, document } of found) {
      const before = this.seen.get(id);
      const parsed = schema.safeParse(document);
      const hasChanged = before !== undefined && before.renewals !== renewals;
      const changedAt = before && !hasChanged ? before.changedAt : this.lookedAt;
      if (this.silentMs(changedAt) >= FORGOTTEN_AFTER_MS) await readStore.withdraw(kind, { id, renewals });
      // What another version announces is not understood here.
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
