import { encodeName, encodeValue, type Encoded } from './mongo-document.ts';
import type { Filter, FindOptions } from '../read-store.ts';

/** A condition in MongoDB's query language. All operators are ours: names and values of callers are only ever data. */
export type MongoFilter = Record<string, Record<string, Encoded | Encoded[]>>;

export const mongoPath = (member: string): string =>
  member === 'id' ? '_id' : ['newest', 'document', ...member.split('.').map(encodeName)].join('.');

export const mongoFilter = (filter: Filter): MongoFilter =>
  Object.fromEntries(Object.entries(filter).map(([member, wanted]) => [mongoPath(member), condition(wanted)]));

export const mongoSort = (sort: NonNullable<FindOptions['sort']>): Record<string, 1 | -1> =>
  Object.fromEntries(sort.map(([member, direction]) => [mongoPath(member), direction === 'asc' ? 1 : -1]));

const NOTHING = { $in: [] };

/** `$eq: null` also matches a missing member; a range compares only with values of the type of its bound. */
const condition = (wanted: Filter[string]): MongoFilter[string] => {
  if (typeof wanted !== 'object' || wanted === null) return { $eq: scalar(wanted) };
  if ('in' in wanted) return { $in: wanted.in.filter((one) => one !== null).map(scalar) };
  const { gte, lte, gt, lt } = wanted;
  const bounds = Object.entries({ $gte: gte, $lte: lte, $gt: gt, $lt: lt }).filter(([, bound]) => bound !== undefined);
  if (bounds.length === 0) return { $nin: [] };
  if (bounds.some(([, bound]) => bound === null)) return NOTHING;
  return Object.fromEntries(bounds.map(([operator, bound]) => [operator, scalar(bound)]));
};

const scalar = (value: unknown): Encoded => {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return encodeValue(value);
  }
  throw new TypeError('a filter value must be text, a number, a boolean or null');
};
