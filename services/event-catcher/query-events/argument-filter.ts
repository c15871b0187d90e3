import type { AbiType } from '../../../shared/chain/identifiers/abi-type.ts';
import { readAddress } from '../../../shared/chain/identifiers/address.ts';
import { SEARCHED_ARGUMENTS_MAX, type Searched } from '../../../shared/chain/identifiers/record-terms.ts';
import type { WatchDocument } from '../../../shared/read-models/event-catcher/watches.ts';
import { invalid } from '../../../shared/errors/refusal.ts';
import { memberNames } from '../domain/decoding/abi-values.ts';
import { typeOf } from '../domain/decoding/event-abi.ts';

const PREFIX = 'arg.';
const NOT_SEARCHED = `is not one of the first ${String(SEARCHED_ARGUMENTS_MAX)} arguments of its event, by which records are found`;

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
  watch: WatchDocument;
  /** The values that records of the watch must have. */
  searched: Searched[];
}

/**
 * Finds the watches whose events have all the arguments. Arguments with the same name may have different types in
 * different events. Returns an empty list if no event has all of them.
 * @throws Refusal validation_failed if no event has an argument, or its value is not valid in any event that has it
 */
export const selectByArguments = (
  watches: readonly WatchDocument[],
  asked: ReadonlyMap<string, string>,
): ArgumentSelection[] => {
  if (asked.size === 0) return watches.map((watch) => ({ watch, searched: [] }));
  const typed = watches.map((watch) => ({ watch, types: argumentTypes(watch) }));
  refuseUnknown(
    asked,
    typed.flatMap(({ types }) => [...types.keys()]),
  );
  const selected: ArgumentSelection[] = [];
  const refused = new Map<string, string>();
  for (const { watch, types } of typed) {
    const searched: Searched[] = [];
    for (const [name, text] of asked) {
      const argument = types.get(name);
      if (!argument) continue;
      const read = argument.isSearched ? searchedBy(name, argument, text, watch.chainId) : undefined;
      if (read) searched.push(read);
      else refused.set(name, argument.isSearched ? 'is not a value of its type' : NOT_SEARCHED);
    }
    if (searched.length === asked.size) selected.push({ watch, searched });
  }
  const [first] = refused;
  if (selected.length === 0 && first) throw invalid({ path: `${PREFIX}${first[0]}`, message: first[1] });
  return selected;
};

/** @param known the names of all arguments; empty if the query names none */
const refuseUnknown = (asked: ReadonlyMap<string, string>, known: readonly string[]): void => {
  if (known.length === 0) return;
  const unknown = [...asked.keys()].filter((name) => !known.includes(name));
  const names = [...new Set(known)]
    .sort()
    .map((name) => `${PREFIX}${name}`)
    .join(', ');
  const errors = unknown.map((name) => ({
    path: `${PREFIX}${name}`,
    message: `is not an argument: there are ${names}`,
  }));
  if (errors.length > 0) throw invalid(...errors);
};

interface Argument {
  type: AbiType;
  indexed: boolean;
  isSearched: boolean;
}

const argumentTypes = ({ fragment: { inputs } }: WatchDocument): Map<string, Argument> => {
  const names = memberNames(inputs);
  return new Map(
    inputs.map((input, at) => [
      names[at] ?? '',
      { type: typeOf(input), indexed: input.indexed === true, isSearched: at < SEARCHED_ARGUMENTS_MAX },
    ]),
  );
};

/** Returns the value in the form that records have; `undefined` if the text is not a value of the type. */
const searchedBy = (
  argument: string,
  { type, indexed }: Argument,
  text: string,
  chainId: number,
): Searched | undefined => {
  const exactly = (value: string | boolean | undefined): Searched | undefined =>
    value === undefined ? undefined : { argument, value };
  const hashed = (): Searched | undefined =>
    /^0x[0-9a-f]{64}$/i.test(text) ? { argument, hash: text.toLowerCase() } : undefined;
  switch (type.kind) {
    case 'uint':
    case 'int':
      return exactly(/^-?\d{1,78}$/.test(text) ? BigInt(text).toString() : undefined);
    case 'address':
      return exactly(readAddress(text, [chainId]));
    case 'bool':
      return exactly(text === 'true' || text === 'false' ? text === 'true' : undefined);
    case 'bytes':
      if (indexed && type.size === null) return hashed();
      return exactly(bytesOf(text));
    case 'function':
      return exactly(bytesOf(text));
    case 'string':
      return indexed ? hashed() : exactly(text);
    case 'array':
    case 'tuple':
      return indexed ? hashed() : undefined;
  }
};

const bytesOf = (text: string): string | undefined =>
  /^0x([0-9a-f]{2})*$/i.test(text) ? text.toLowerCase() : undefined;
