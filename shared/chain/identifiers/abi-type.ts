import type { AbiParameter } from '../../../schemas/events/event-catcher/watch-events.ts';

/** The Solidity ABI type of an event parameter. `length: null` is a dynamic array, `size: null` is `bytes`. */
export type AbiType =
  | { kind: 'uint' | 'int'; bits: number }
  | { kind: 'address' | 'bool' | 'string' | 'function' }
  | { kind: 'bytes'; size: number | null }
  | { kind: 'array'; of: AbiType; length: number | null }
  | { kind: 'tuple'; components: readonly { name: string; type: AbiType }[] };

/** Maximum nesting of arrays and tuples. Compilers stop long before; the limit keeps recursion over a type shallow. */
export const NESTING_MAX = 16;

/** Equal to the maximum length of a signature, so that any event name that fits into a signature is accepted. */
const NAME_CHARACTERS_MAX = 2_048;

/** Whether a text may be the name of an event or a parameter. A parameter's name becomes a key of every record. */
export const isIdentifier = (text: string): boolean =>
  text.length <= NAME_CHARACTERS_MAX && /^[A-Za-z_$][\w$]*$/.test(text);

/**
 * Reads a type that is neither an array nor a tuple. `undefined` for names that the ABI does not know: contracts,
 * enums, `byte`, `fixed`.
 */
export const elementaryType = (name: string): AbiType | undefined => {
  if (name === 'address' || name === 'bool' || name === 'string' || name === 'function') return { kind: name };
  if (name === 'bytes') return { kind: 'bytes', size: null };
  const [, kind, digits = '256'] = /^(uint|int|bytes)([1-9]\d{0,2})?$/.exec(name) ?? [];
  const count = Number(digits);
  if (kind === 'bytes') return count <= 32 ? { kind, size: count } : undefined;
  if (kind !== 'uint' && kind !== 'int') return undefined;
  return count <= 256 && count % 8 === 0 ? { kind, bits: count } : undefined;
};

/** Whether a text may be the length between the brackets of an array. */
export const isArrayLength = (text: string): boolean => /^[1-9]\d{0,8}$/.test(text);

/** Returns the type as signatures write it: `uint256`, `(address,bytes32[2])[]`. */
export const typeName = (type: AbiType): string => {
  switch (type.kind) {
    case 'uint':
    case 'int':
      return `${type.kind}${String(type.bits)}`;
    case 'bytes':
      return `bytes${type.size === null ? '' : String(type.size)}`;
    case 'array':
      return `${typeName(type.of)}[${type.length === null ? '' : String(type.length)}]`;
    case 'tuple':
      return `(${type.components.map((component) => typeName(component.type)).join(',')})`;
    case 'address':
    case 'bool':
    case 'string':
    case 'function':
      return type.kind;
  }
};

/** Reads the type of a parameter of a JSON ABI; `undefined` if it is not a valid type, or is nested too deeply. */
export const parameterType = (parameter: AbiParameter, depth = 0): AbiType | undefined => {
  const [, base = '', brackets = ''] = /^(\w{1,16})((?:\[\d{0,9}\]){0,16})$/.exec(parameter.type) ?? [];
  const lengths = Array.from(brackets.matchAll(/\[(\d*)\]/g), ([, digits = '']) => digits);
  if (depth + lengths.length > NESTING_MAX) return undefined;
  if (!lengths.every((digits) => digits === '' || isArrayLength(digits))) return undefined;
  const inner =
    base === 'tuple' ? tupleType(parameter.components ?? [], depth + lengths.length + 1) : elementaryType(base);
  if (!inner) return undefined;
  return lengths.reduce<AbiType>(
    (of, digits) => ({ kind: 'array', of, length: digits === '' ? null : Number(digits) }),
    inner,
  );
};

const tupleType = (parameters: readonly AbiParameter[], depth: number): AbiType | undefined => {
  if (parameters.length === 0) return undefined;
  const components: { name: string; type: AbiType }[] = [];
  for (const parameter of parameters) {
    const type = parameterType(parameter, depth);
    if (!type) return undefined;
    components.push({ name: parameter.name, type });
  }
  return { kind: 'tuple', components };
};
