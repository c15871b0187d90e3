import type { JsonObject, JsonValue } from '../../../schemas/json.ts';

/** The form in which MongoDB stores a document: names and values with a meaning to MongoDB are encoded. */
export type Encoded = string | number | boolean | null | EncodedObject;
export type EncodedObject = { [name: string]: Encoded };

/** Prefix of encoded names only. Its value is the JSON of what BSON, or a filter, would misread. */
const AS_JSON = '%';
/** MongoDB accepts documents that are nested up to 100 deep. */
const DEPTH_MAX = 32;
/** Dots separate path members; `$` begins operators, `_bsontype` makes an object a driver type, NUL ends a name. */
const PLAIN_NAME = /^(?!__proto__$|_bsontype$)[^$%.\0][^.\0]*$/;

/** Encodes a member's name for storage and for paths. */
export const encodeName = (name: string): string =>
  PLAIN_NAME.test(name) && name.isWellFormed()
    ? name
    : `${AS_JSON}${Buffer.from(JSON.stringify(name)).toString('base64url')}`;

/**
 * Stores lists as JSON, so that no filter matches a document by an element, and no index has an entry for each element.
 * Also stores text that UTF-8 cannot represent as JSON.
 */
export const encodeValue = (value: JsonValue, depth = 0): Encoded => {
  if (typeof value === 'string') return value.isWellFormed() ? value : asJson(value);
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value) || depth >= DEPTH_MAX ? asJson(value) : encodeDocument(value, depth + 1);
};

export const encodeDocument = (document: JsonObject, depth = 0): EncodedObject => {
  const encoded: EncodedObject = {};
  for (const [name, value] of Object.entries(document)) encoded[encodeName(name)] = encodeValue(value, depth);
  return encoded;
};

const asJson = (value: JsonValue): Encoded => ({ [AS_JSON]: JSON.stringify(value) });

export const decodeValue = (stored: Encoded): JsonValue => {
  if (typeof stored !== 'object' || stored === null) return stored;
  const json = stored[AS_JSON];
  return typeof json === 'string' ? (JSON.parse(json) as JsonValue) : decodeDocument(stored);
};

/** `fromEntries` also makes `__proto__` a plain member. */
export const decodeDocument = (stored: EncodedObject): JsonObject =>
  Object.fromEntries(Object.entries(stored).map(([name, value]) => [decodeName(name), decodeValue(value)]));

const decodeName = (name: string): string =>
  name.startsWith(AS_JSON) ? (JSON.parse(Buffer.from(name.slice(1), 'base64url').toString()) as string) : name;
