import { isObject, textOf, type Json } from './json-value.ts';

type Operator = (operand: Json, value: Json | undefined) => boolean;

/** What a pattern may have in place of a value, as an object with this one member. */
const operators = new Map<string, Operator>(
  Object.entries({
    $absent: (operand, value) => (value === undefined || value === null) === operand,
    $atLeast: (operand, value) => Number(value) >= Number(operand),
    $has: (operand, value) => Array.isArray(value) && value.some((item) => matches(operand, item)),
    $matches: (operand, value) => typeof value === 'string' && new RegExp(textOf(operand), 'u').test(value),
    $not: (operand, value) => value !== undefined && !matches(operand, value),
    $oneOf: (operand, value) => Array.isArray(operand) && operand.some((one) => matches(one, value)),
    $type: (operand, value) => (Array.isArray(value) ? 'array' : typeof value) === operand,
  } satisfies Record<string, Operator>),
);

/** Whether a value has everything that a pattern names. Objects may have more members; lists have the same length. */
export const matches = (pattern: Json, value: Json | undefined): boolean => {
  if (Array.isArray(pattern))
    return (
      Array.isArray(value) &&
      value.length === pattern.length &&
      pattern.every((item, index) => matches(item, value[index]))
    );
  if (!isObject(pattern)) return pattern === value;
  const entries = Object.entries(pattern);
  if (entries.length > 0 && entries.every(([name]) => operators.has(name)))
    return entries.every(([name, operand]) => operators.get(name)?.(operand, value));
  return isObject(value) && entries.every(([name, item]) => matches(item, value[name]));
};

/** The names of operators that are misspelt in a pattern. */
export const unknownOperators = (pattern: Json): string[] => {
  if (Array.isArray(pattern)) return pattern.flatMap(unknownOperators);
  if (!isObject(pattern)) return [];
  return Object.entries(pattern).flatMap(([name, item]) => [
    ...(name.startsWith('$') && !operators.has(name) ? [name] : []),
    ...unknownOperators(item),
  ]);
};
