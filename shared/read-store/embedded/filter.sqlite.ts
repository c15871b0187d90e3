import type { SQLInputValue } from 'node:sqlite';
import type { Filter } from '../read-store.ts';

export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Stands for a list or an object: sorts after all text, and equals no value of a filter. */
const NO_SCALAR = new Uint8Array();

export const toColumn = (value: unknown): SQLInputValue => {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'string' || typeof value === 'number') return value;
  return value === null || value === undefined ? null : NO_SCALAR;
};

type Range = Exclude<Filter[string], { in: unknown } | string | number | boolean | null>;

interface Compiled {
  sql: string;
  parameters: SQLInputValue[];
}

/** Names are bound, never concatenated: they may come from a caller. */
export const compileMember = (columns: readonly string[], member: string): Compiled => {
  if (member === 'id' || columns.includes(member)) return { sql: quote(member), parameters: [] };
  const path = `$${member
    .split('.')
    .map((name) => `."${name}"`)
    .join('')}`;
  return extract(path);
};

export const extract = (path: string): Compiled => ({
  sql: `CASE WHEN json_type(document, ?) IN ('array', 'object') THEN x'' ELSE json_extract(document, ?) END`,
  parameters: [path, path],
});

const OPERATORS = { gte: '>=', lte: '<=', gt: '>', lt: '<' } as const;

export const compileFilter = (
  columns: readonly string[],
  filter: Filter,
): { where: string; parameters: SQLInputValue[] } => {
  const conditions: string[] = [];
  const parameters: SQLInputValue[] = [];
  for (const [member, wanted] of Object.entries(filter)) {
    const { sql, parameters: path } = compileMember(columns, member);
    const compare = (operator: string, bound: SQLInputValue) => {
      conditions.push(`${sql} ${operator} ?`);
      parameters.push(...path, bound);
    };
    if (typeof wanted !== 'object' || wanted === null) {
      compare('IS', toColumn(wanted));
    } else if ('in' in wanted) {
      const values = wanted.in.map(toColumn);
      conditions.push(`${sql} IN (${values.map(() => '?').join(', ')})`);
      parameters.push(...path, ...values);
    } else for (const [operator, bound] of compileRange(wanted)) compare(operator, bound);
  }
  return { where: conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`, parameters };
};

/** SQLite sorts numbers before text before blobs, so an open side of a range ends with the type of the other bound. */
const compileRange = (range: Range): [operator: string, bound: SQLInputValue][] => {
  const bounds = Object.entries(OPERATORS).flatMap(([name, operator]) => {
    const bound = range[name as keyof typeof OPERATORS];
    return bound === undefined ? [] : [[operator, toColumn(bound)] as [string, SQLInputValue]];
  });
  const types = new Set(bounds.map(([, bound]) => typeof bound));
  if (types.size > 1 || types.has('object'))
    return [
      ['IS NOT', null],
      ['IS', null],
    ];
  const isBoundedBy = (sign: string) => bounds.some(([operator]) => operator.startsWith(sign));
  if (types.has('string') && !isBoundedBy('>')) bounds.push(['>=', '']);
  if (types.size > 0 && !isBoundedBy('<')) bounds.push(['<', types.has('string') ? NO_SCALAR : '']);
  return bounds;
};
