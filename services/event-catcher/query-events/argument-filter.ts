import type { AbiType } from '../../../shared/chain/abi-type.ts';
import { readAddress } from '../../../shared/chain/address.ts';
import type { WatchDocument } from '../../../shared/read-models/watches.ts';
import { invalid } from '../../../shared/errors/refusal.ts';
import { memberNames } from '../domain/abi-values.ts';
import { typeOf } from '../domain/event-abi.ts';

/** The members of a stored record, with the value that each must have. */
export type ArgumentFilter = Record<string, string | boolean>;

const PREFIX = 'arg.';

/**
 * Reads the members `arg.<name>=<value>` of a query.
 * @throws Refusal validation_failed for a name with several values
 */
export const argumentsOf = (query: Readonly<Record<string, unknown>>): Map<string, string> => {
  const asked = new Map<string, string>();
  for (const [key, value] of Object.entries(query)) {
    if (!key.startsWith(PREFIX)) continue;
    if (typeof value !== 'string') throw invalid({ path: key, message: 'is given more than once' });
    asked.set(key.slice(PREFIX.length), value);
  }
  return asked;
};

export interface ArgumentSelection {
  filter: ArgumentFilter;
  watches: WatchDocument[];
}

/**
 * Finds the watches whose events have all the arguments, grouped by what their records must hold: an argument of one
 * name may have another type in another event. Returns an empty list if no event has them.
 * @throws Refusal validation_failed if a value is not valid in any event that has its argument
 */
export const selectByArguments = (
  watches: readonly WatchDocument[],
  asked: ReadonlyMap<string, string>,
): ArgumentSelection[] => {
  const selected = new Map<string, ArgumentSelection>();
  let unreadable: string | undefined;
  for (const watch of watches) {
    const types = argumentTypes(watch);
    const filter: ArgumentFilter = {};
    let fits = true;
    for (const [name, text] of asked) {
      const type = types.get(name);
      const read = type && argumentValue(type.type, type.indexed, text);
      if (type && !read) unreadable = name;
      if (read) filter[`Data.${name}${read.member}`] = read.value;
      else fits = false;
    }
    if (!fits) continue;
    const key = JSON.stringify(filter);
    const same = selected.get(key) ?? { filter, watches: [] };
    same.watches.push(watch);
    selected.set(key, same);
  }
  if (selected.size === 0 && unreadable !== undefined) {
    throw invalid({ path: `${PREFIX}${unreadable}`, message: 'is not a value of its type' });
  }
  return [...selected.values()];
};

const argumentTypes = ({ fragment: { inputs } }: WatchDocument) => {
  const names = memberNames(inputs);
  return new Map(
    inputs.map((input, at) => [names[at] ?? '', { type: typeOf(input), indexed: input.indexed === true }]),
  );
};

interface ArgumentValue {
  /** The path after the argument's name in the record. */
  member: '' | '.hash';
  value: string | boolean;
}

/** Returns the value in the form that records have; `undefined` if the text is not a value of the type. */
const argumentValue = (type: AbiType, indexed: boolean, text: string): ArgumentValue | undefined => {
  const exactly = (value: string | boolean | undefined): ArgumentValue | undefined =>
    value === undefined ? undefined : { member: '', value };
  switch (type.kind) {
    case 'uint':
    case 'int':
      return exactly(/^-?\d{1,78}$/.test(text) ? BigInt(text).toString() : undefined);
    case 'address':
      return exactly(readAddress(text));
    case 'bool':
      return exactly(text === 'true' || text === 'false' ? text === 'true' : undefined);
    case 'bytes':
      if (indexed && type.size === null) return hashed(text);
      return exactly(/^0x([0-9a-f]{2})*$/i.test(text) ? text.toLowerCase() : undefined);
    case 'string':
      return indexed ? hashed(text) : exactly(text);
    case 'array':
    case 'tuple':
      return indexed ? hashed(text) : undefined;
  }
};

const hashed = (text: string): ArgumentValue | undefined =>
  /^0x[0-9a-f]{64}$/i.test(text) ? { member: '.hash', value: text.toLowerCase() } : undefined;
