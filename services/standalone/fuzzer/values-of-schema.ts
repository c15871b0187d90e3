import fc from 'fast-check';
import { z } from 'zod';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** More is never needed to pass a limit of a member. */
const CHARACTERS_MAX = 2_100;

const MATCH_CHARACTERS_MAX = 300;

/** Texts that other programs have read wrongly. */
export const ODD_TEXTS: readonly string[] = [
  ...['', ' ', '\t\n', '\u0000', '\u001b[31m', '\u202eabc', '\u200b', '\ufeff', '\ud800', 'a\udc00', '\u2028'],
  ...['é', 'e\u0301', 'ﬃ', 'İ', 'ß', '１２３', '𝟞𝟞𝟞𝟞𝟞𝟞', '👨\u200d👩\u200d👧', 'Z\u0351\u036b\u0343', 'ـ'.repeat(60)],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '$where', '{"$gt":""}', '[object Object]'],
  ...['null', 'undefined', 'true', 'NaN', 'Infinity', '-1', '0', '1e3', '0x10', '1.5', '00', '9'.repeat(400)],
  ...['../..', '..%2f', '%00', '%', '?', '#', '&a=b', ';', "' or '1'='1", '${jndi:ldap://x}', '{{7*7}}', '<script>'],
  ...['https://user@shop.example:0/\\', 'javascript:alert(1)', 'https://[::1]', 'a@b.example\r\nBcc: c@d.example'],
];

const ODD_NUMBERS: readonly number[] = [
  ...[0, -1, 1, 0.1, 1.5, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 2 ** 53 + 2, -(2 ** 53), 1e21, 1e308],
  ...[Number.MIN_VALUE, 8_640_000_000_000_000, 8_640_000_000_000_001],
];

/** Any JSON, most of it of another type than a schema wants. */
export const oddValues: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { $gt: '' }, { toString: 1 }, { length: 3 }),
  fc.constantFrom<unknown>(...ODD_TEXTS),
  fc.constantFrom<unknown>(...ODD_NUMBERS),
  fc.jsonValue({ maxDepth: 2 }),
);

/** The JSON schema of what is sent; of a number that a query has as text, that of the number. */
export const inputSchemaOf = (schema: z.ZodType): JsonSchema =>
  z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      if (def.type === 'pipe' && 'out' in def) Object.assign(jsonSchema, z.toJSONSchema(def.out as z.ZodType));
    },
  });

/** Returns values that fit a schema, the longest and the shortest among them, as far as JSON schema can say. */
export const valuesOf = (schema: JsonSchema): fc.Arbitrary<unknown> => {
  const { type, anyOf, enum: choices, const: only, items } = schema;
  if (only !== undefined) return fc.constant(only);
  if (choices) return fc.constantFrom<unknown>(...choices);
  if (anyOf) return fc.oneof(...anyOf.map((one) => valuesOf(one)));
  switch (type) {
    case 'string':
      return textsOf(schema);
    case 'integer':
    case 'number':
      return numbersOf(schema);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(valuesOf((items ?? {}) as JsonSchema), { maxLength: 3 });
    case 'object':
      return objectsOf(schema);
    default:
      return oddValues;
  }
};

const objectsOf = ({ properties = {}, required = [] }: JsonSchema): fc.Arbitrary<unknown> => {
  const members = Object.entries(properties).map(([name, one]) => [name, valuesOf(one as JsonSchema)] as const);
  const requiredKeys = required.filter((name) => name in properties);
  return fc.record(Object.fromEntries(members), { requiredKeys });
};

const textsOf = ({ pattern, minLength = 0, maxLength = CHARACTERS_MAX }: JsonSchema): fc.Arbitrary<string> => {
  if (pattern !== undefined) {
    const matching = fc.stringMatching(new RegExp(pattern, 'u'), { maxLength: MATCH_CHARACTERS_MAX });
    return matching.map((text) => text.slice(0, maxLength));
  }
  const lengths = [...new Set([minLength, minLength + 1, Math.min(50, maxLength), maxLength])];
  const longest = fc.tuple(fc.constantFrom('a', 'é', '𝒳'), fc.constantFrom(...lengths));
  return fc.oneof(
    { weight: 3, arbitrary: fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 20) }) },
    longest.map(([character, length]) => character.repeat(Math.ceil(length / character.length)).slice(0, length)),
    fc.constantFrom(...ODD_TEXTS).map((text) => text.slice(0, maxLength).padEnd(minLength, 'x')),
  );
};

const numbersOf = ({ minimum, maximum, exclusiveMinimum }: JsonSchema): fc.Arbitrary<number> => {
  const least = minimum ?? (typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : Number.MIN_SAFE_INTEGER);
  const greatest = maximum ?? Number.MAX_SAFE_INTEGER;
  return fc.oneof(
    fc.integer({ min: Math.max(least, -(2 ** 31)), max: Math.min(greatest, 2 ** 31) }),
    fc.constantFrom(least, greatest, Math.min(least + 1, greatest)),
  );
};
