import type { JsonObject, JsonValue } from '../../schemas/json.ts';

/** What MongoDB keeps of a document; names and values that it would read as something else are written differently. */
export type Encoded = string | number | boolean | null | EncodedObject;
export type EncodedObject = { [name: string]: Encoded };

/** Begins no other name: under it stands the JSON of what BSON, or a filter, would take for something else. */
const AS_JSON = '%';
/** MongoDB takes documents that are nested up to 100 deep. */
const DEPTH_MAX = 32;
/** Paths are cut at dots; `$` begins operators, `_bsontype` makes an object a value of the driver, NUL ends a name. */
const PLAIN_NAME = /^(?!__proto__$|_bsontype$)[^$%.\0][^.\0]*$/;

/** A member's name as it is stored, and as a path may hold it. */
export const encodeName = (name: string): string =>
  PLAIN_NAME.test(name) && name.isWellFormed()
    ? name
    : `${AS_JSON}${Buffer.from(JSON.stringify(name)).toString('base64url')}`;

/**
 * Lists are kept as JSON, so that no filter finds a document by what is in one, and no index has an entry for each of
 * it. So is text that UTF-8 cannot hold.
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

/** `fromEntries` makes a member of `__proto__` too. */
export const decodeDocument = (stored: EncodedObject): JsonObject =>
  Object.fromEntries(Object.entries(stored).map(([name, value]) => [decodeName(name), decodeValue(value)]));

const decodeName = (name: string): string =>
  name.startsWith(AS_JSON) ? (JSON.parse(Buffer.from(name.slice(1), 'base64url').toString()) as string) : name;
