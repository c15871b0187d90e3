import { setImmediate } from 'node:timers/promises';
import type { ExportEnd } from '../../schemas/http/account/history.ts';
import { userStream } from '../../schemas/events/account/user-events.ts';
import { Refusal } from '../errors/refusal.ts';
import type { EventStore, Position, StoredEvent } from '../event-store/event-store.ts';
import type { PersonalData } from '../key-vault/personal-data.ts';
import { take } from '../primitives/take.ts';
import { canonicalJson } from '../primitives/text/canonical-json.ts';
import { toIso, type Clock } from '../primitives/clock.ts';
import type { QueryBudget } from '../read-store/query-budget.ts';
import type { AuditKey } from './audit-key.ts';
import { historyEvents, type HistorySources } from './history-events.ts';
import { NO_HASH } from '../read-models/account/history-line.ts';
import type { HistoryThread } from './history-thread.ts';
import { handed } from './history-work.ts';
import { logBehind, LogProofs, type ExportedLog } from './log-proofs.ts';

/** Events per piece of work. Other exports wait for at most one piece. */
const PIECE_EVENTS = 100;

/** Proofs kept by one export: some ten megabytes, because proofs of neighbours share their texts. */
const PROOFS_KEPT = 20_000;

export interface ExportOptions extends HistorySources {
  eventStore: Pick<EventStore, 'read' | 'readAll'>;
  personalData: Pick<PersonalData, 'keysOf'>;
  auditKey: Pick<AuditKey, 'sign'>;
  log: ExportedLog;
  thread: HistoryThread;
  budget: QueryBudget;
  clock: Clock;
}

/**
 * Returns the history of a user as NDJSON, oldest first: one line per event up to the newest that the transparency log has,
 * and a last line that proves each of them to be in the log, and signs all of it.
 * @throws Refusal user_not_found. The lines end with another Refusal: user_erased, if the user is erased meanwhile;
 * not_caught_up, if the log is made anew; and as `check` of the budget
 */
export const exportHistory = async (userId: string, options: ExportOptions): Promise<AsyncGenerator<string>> => {
  const [newest] = await options.eventStore.read(userStream(userId), { direction: 'backwards', limit: 1 });
  if (!newest) throw new Refusal('user_not_found', 'no user has this id');
  return everyLine(userId, newest.type === 'UserErased', options);
};

/** What the last line is about. */
interface Exported {
  userId: string;
  position: Position;
  /** The hash of each line. */
  hashes: string[];
  /** The number of the leaf of each line. */
  leaves: number[];
  seal: StoredEvent | undefined;
}

async function* everyLine(userId: string, isErased: boolean, options: ExportOptions): AsyncGenerator<string> {
  const { personalData, log, thread, budget, ...sources } = options;
  // The log has the seal, because the position to which it has come is asked for afterwards.
  const seal = await log.histories.newestStored();
  const position = await log.caughtUp();
  const events = historyEvents(sources, { userId, upTo: position });
  const exported: Exported = { userId, position, hashes: [], leaves: [], seal };
  for (;;) {
    const piece = await thread.inSlot(budget, async () => {
      const some = await take(events, PIECE_EVENTS);
      const leaves = await leavesOf(some, log);
      const keys = await personalData.keysOf(some.map(({ metadata }) => metadata.salt));
      const previous = exported.hashes.at(-1) ?? NO_HASH;
      return { leaves, ...(await thread.lines({ events: some.map(handed), leaves, keys, previous, isErased })) };
    });
    if (piece.text === undefined) throw new Refusal('user_erased', 'this user was erased while the export was made');
    exported.hashes.push(...piece.hashes);
    exported.leaves.push(...piece.leaves);
    if (piece.text !== '') yield piece.text;
    if (piece.leaves.length < PIECE_EVENTS) break;
  }
  yield* lastLine(exported, options);
}

const leavesOf = async (events: readonly StoredEvent[], { stored }: ExportedLog): Promise<number[]> => {
  const leaves = (await stored.leafNumbers(events)).filter((leaf) => leaf !== undefined);
  if (leaves.length === events.length) return leaves;
  throw logBehind();
};

/**
 * Yields the last line in pieces, because the proofs of a long history have some hundred megabytes. They are written twice:
 * in the line, and in the text that is signed. Those that are not kept are made twice.
 */
async function* lastLine(
  { userId, position, hashes, leaves, seal }: Exported,
  { auditKey, log, thread, budget, clock }: ExportOptions,
): AsyncGenerator<string> {
  const proofs = await newestProofs(log, leaves.at(-1) ?? -1);
  const sealed = async (one: StoredEvent | undefined) => one && proofs.completeness(one, userId, hashes);
  // A long export may have outlived the tree of the seal with which it began.
  const completeness = (await sealed(seal)) ?? (await sealed(await log.histories.newestStored())) ?? null;
  const end: Omit<ExportEnd, 'signature'> = {
    ...{ sub: userId, items: hashes.length, position, hash: hashes.at(-1) ?? NO_HASH, time: toIso(clock.now()) },
    ...{ checkpoint: proofs.checkpoint, proofs: [], completeness },
  };
  const kept: string[][][] = [];
  const pieceFrom = (from: number) => proofs.inclusion(leaves.slice(from, from + PIECE_EVENTS));
  const withProofs = async function* (text: string): AsyncGenerator<string> {
    const [before = '', after = ''] = splitAt(text, EMPTY_PROOFS);
    yield before + EMPTY_PROOFS.slice(0, -1);
    for (let from = 0; from < leaves.length; from += PIECE_EVENTS) {
      await setImmediate();
      const piece = kept[from / PIECE_EVENTS] ?? (await thread.inSlot(budget, () => pieceFrom(from)));
      if (from < PROOFS_KEPT) kept[from / PIECE_EVENTS] = piece;
      yield (from === 0 ? '' : ',') + piece.map((proof) => JSON.stringify(proof)).join(',');
    }
    yield EMPTY_PROOFS.slice(-1) + after;
  };
  yield* withProofs(JSON.stringify(end).slice(0, -1));
  yield ',"signature":"';
  yield* auditKey.sign(withProofs(canonicalJson(end)));
  yield '"}\n';
}

/** @throws Refusal not_caught_up if the newest checkpoint has not got this leaf */
const newestProofs = async (log: ExportedLog, leaf: number): Promise<LogProofs> => {
  // The first may be one that somebody else has asked for before the leaf was there.
  for (const checkpoint of [log.checkpoint, log.checkpoint]) {
    const proofs = new LogProofs(log, await checkpoint());
    if (proofs.has(leaf)) return proofs;
  }
  throw logBehind();
};

const EMPTY_PROOFS = '"proofs":[]';

/** No text before this member can contain it: quotation marks inside of texts are escaped. */
const splitAt = (text: string, separator: string): string[] => {
  const at = text.indexOf(separator);
  return [text.slice(0, at), text.slice(at + separator.length)];
};
