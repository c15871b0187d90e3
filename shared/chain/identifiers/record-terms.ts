import { LRUCache } from 'lru-cache';
import type { ObservedRecord } from '../../../schemas/events/event-catcher/chain-events.ts';
import { sha256 } from '../../primitives/ids.ts';
import { atMost } from '../../primitives/at-most.ts';

/**
 * Records per segment: a segment has this many records of a watch, in the order in which they were first stored. All
 * values in this file are stored data, and change only with a new version.
 */
export const SEGMENT_RECORDS = 8_192;
/** Only this many arguments of a record can be searched for. A Solidity contract has fewer than 20 in an event. */
export const SEARCHED_ARGUMENTS_MAX = 64;
/** A safe integer holds at most 13 hexadecimal digits. */
const TERM_DIGITS = 13;
const WATCH_DIGITS = 8;
/** More than a watch can have, and few enough that the number of a segment is a safe integer. */
const SEGMENTS_MAX = 2 ** 21;

/** More logs than any block has had. Later logs of a block share the place of the last one. */
const LOGS_MAX = 2 ** 17;
/** The last block with a place of its own, so that places are safe integers. */
export const PLACED_BLOCK_MAX = 2 ** 36 - 2;

/**
 * Returns the number of a segment, given its index in the watch, from 0. Two watches hardly ever share a segment, and
 * that would be harmless.
 */
export const segmentOf = (watchId: string, index: number): number =>
  ofWatch(watchId, WATCH_DIGITS) * SEGMENTS_MAX + Math.min(index, SEGMENTS_MAX - 1);

/** Returns the place of a log in its chain. Places sort as logs do. */
export const placeOf = ({ BlockNumber, LogIndex }: Pick<ObservedRecord, 'BlockNumber' | 'LogIndex'>): number =>
  Math.min(BlockNumber, PLACED_BLOCK_MAX) * LOGS_MAX + Math.min(LogIndex, LOGS_MAX - 1);

/** Returns the places of the logs of these blocks, both included. */
export const placesOf = (fromBlock: number, toBlock: number): { from: number; to: number } => ({
  from: placeOf({ BlockNumber: fromBlock, LogIndex: 0 }),
  to: placeOf({ BlockNumber: toBlock, LogIndex: LOGS_MAX }),
});

/** What a record is searched by: its transaction, or an argument in the form that `Data` has. */
export type Searched =
  | { txHash: string }
  | { argument: string; value: string | boolean }
  | { argument: string; hash: string };

/** Canonical and reverted records of a watch have separate terms. */
export interface SearchedRecords {
  watchId: string;
  reverted: boolean;
}

/** Returns the term that all of these records share. */
export const termOfAll = (records: SearchedRecords): number => ofWatch(textOf(records, '', ''), TERM_DIGITS);

/** Returns the term of the records that match. */
export const termOf = (records: SearchedRecords, searched: Searched): number => {
  if ('txHash' in searched) return term(records, 'transaction', searched.txHash);
  if ('hash' in searched) return term(records, `hash ${searched.argument}`, searched.hash);
  return term(records, `value ${searched.argument}`, String(searched.value));
};

/** Returns all terms of a record. */
export const termsOf = (
  records: SearchedRecords,
  { TxHash, Data }: Pick<ObservedRecord, 'TxHash' | 'Data'>,
): number[] => {
  const terms = [termOfAll(records), termOf(records, { txHash: TxHash })];
  for (const [argument, value] of Object.entries(Data).slice(0, SEARCHED_ARGUMENTS_MAX)) {
    if (typeof value === 'string' || typeof value === 'boolean') terms.push(termOf(records, { argument, value }));
    else if (typeof value === 'object' && value !== null && 'hash' in value && typeof value['hash'] === 'string')
      terms.push(termOf(records, { argument, hash: value['hash'] }));
  }
  // Duplicates are possible: the emitter of an event can choose values that give the same term.
  return [...new Set(terms)];
};

const WATCHES_KEPT = 10_000;
/** Caches hashes of watches, which are needed for each of their records. */
const ofWatches = new LRUCache<string, number>(atMost(WATCHES_KEPT));

const ofWatch = (text: string, digits: number): number => {
  const known = ofWatches.get(text);
  if (known !== undefined) return known;
  const number = firstDigits(text, digits);
  ofWatches.set(text, number);
  return number;
};

const term = (records: SearchedRecords, member: string, value: string): number =>
  firstDigits(textOf(records, member, value), TERM_DIGITS);

const textOf = ({ watchId, reverted }: SearchedRecords, member: string, value: string): string =>
  `${watchId} ${reverted ? 'reverted' : 'canonical'} ${member} ${value}`;

const firstDigits = (text: string, digits: number): number => Number.parseInt(sha256(text).slice(0, digits), 16);
