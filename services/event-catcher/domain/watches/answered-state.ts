import type { RecordStatus } from '../../../../schemas/http/event-catcher/event-record.ts';
import type { ResumePoint } from '../../../../shared/keys/stream-cursors.ts';
import type { ChainDocument } from '../../../../shared/read-models/event-catcher/chains.ts';
import type { WatchDocument } from '../../../../shared/read-models/event-catcher/watches.ts';
import { progressOf, readUpTo } from './watch-progress.ts';

/** The state that an answer shows, the same on all pages of a query. It is in signed cursors: only add to it. */
export interface AnsweredState {
  /** Where a subscription continues the answer; `null` if that is not known. */
  resumePoint: ResumePoint | null;
  /** The block up to which the answer has everything; `null` if that is not known. */
  head: number | null;
  /** The newest block that is final for the answer; -1 if none is known. Former cursors lack it. */
  finalized?: number;
}

interface Answered {
  status: RecordStatus | undefined;
  /** The selected watches. */
  watches: readonly WatchDocument[];
  /** With the deferred ranges of these watches. */
  chain: ChainDocument | undefined;
  /** How far the read model of records was when the query began, and when that was. */
  records: { position: number; newestAtMs: number };
}

/**
 * Tells the state of an answer of now. A chain says that blocks were read when their records are stored already, so
 * `head` is known once the read model of records has reached that event. Final records are subscribed to from the
 * block after the final ones: records that are not final yet were stored before the position of the answer. Of the
 * blocks before, the subscription has what is stored after that position.
 */
export const answeredState = ({ status, watches, chain, records }: Answered): AnsweredState => {
  const isFinal = status === 'finalized';
  const finalized = chain?.finalized ?? -1;
  const blocks = chain && watches.map((watch) => readUpTo(progressOf(watch, chain)));
  const head = chain ? Math.min(isFinal ? finalized : chain.head, ...(blocks ?? [])) : -1;
  const isKnown = chain !== undefined && records.position >= chain.position && head >= 0;
  if (!isFinal) return { resumePoint: records, head: isKnown ? head : null, finalized };
  return isKnown
    ? { resumePoint: { ...records, historyFrom: finalized + 1 }, head, finalized }
    : { resumePoint: null, head: null, finalized };
};
