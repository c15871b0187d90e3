import { LRUCache } from 'lru-cache';
import type { ObservedRecord } from '../../schemas/events/chain-events.ts';
import { sha256 } from '../primitives/ids.ts';

/**
 * So many records of a watch that were first stored one after the other are a segment. It is stored, and changes only by a
 * new version, as does everything here.
 */
export const SEGMENT_RECORDS = 8_192;
/** Of a record, the first arguments can be searched for. A contract of Solidity has fewer than 20 in an event. */
export const SEARCHED_ARGUMENTS_MAX = 64;
/** 13 hexadecimal digits are the most that a safe integer holds. */
const TERM_DIGITS = 13;
const WATCH_DIGITS = 8;
/** More than a watch can have, and so few that the number of a segment is a safe integer. */
const SEGMENTS_MAX = 2 ** 21;

/** More logs than any block has had. Later ones of a block share the place of the last. */
const LOGS_MAX = 2 ** 17;
/** The last block that has a place of its own, so that places are safe integers. */
export const PLACED_BLOCK_MAX = 2 ** 36 - 2;

/** Returns the number of a segment, counted from 0 in its watch. Two watches hardly ever share one, and then lose nothing. */
export const segmentOf = (watchId: string, index: number): number =>
  ofWatch(watchId, WATCH_DIGITS) * SEGMENTS_MAX + Math.min(index, SEGMENTS_MAX - 1);

/** Returns the place of a log in its chain. Places sort as logs do. */
export const placeOf = ({ BlockNumber, LogIndex }: Pick<ObservedRecord, 'BlockNumber' | 'LogIndex'>): number =>
  Math.min(BlockNumber, PLACED_BLOCK_MAX) * LOGS_MAX + Math.min(LogIndex, LOGS_MAX - 1);

/** Returns the places of the logs of these blocks, the last one included. */
export const placesOf = (fromBlock: number, toBlock: number): { from: number; to: number } => ({
  from: placeOf({ BlockNumber: fromBlock, LogIndex: 0 }),
  to: placeOf({ BlockNumber: toBlock, LogIndex: LOGS_MAX }),
});

/** What a record is searched by: its transaction, or an argument, as its `Data` has it. */
export type Searched =
  { txHash: string } | { argument: string; value: string | boolean } | { argument: string; hash: string };

/** Canonical records of a watch and reverted ones are searched for apart. */
export interface SearchedRecords {
  watchId: string;
  reverted: boolean;
}

/** Returns the term of all of these records. */
export const termOfAll = (records: SearchedRecords): number => ofWatch(textOf(records, '', ''), TERM_DIGITS);

/** Returns the term of those that have this. */
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
  // Whoever emits an event can choose values of which two give one term.
  return [...new Set(terms)];
};

const WATCHES_KEPT = 10_000;
/** What follows from a watch alone is asked for with each of its records. */
const ofWatches = new LRUCache<string, number>({ max: WATCHES_KEPT });

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
