import { createCipheriv, createDecipheriv } from 'node:crypto';
import { eventCatalogue } from '../../schemas/events/catalogue.ts';
import type { EventDefinition, SealedText } from '../../schemas/events/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { StoredEvent } from '../event-store/event-store.ts';
import { someRandomBytes } from '../primitives/random-bytes.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Data keys by id; `undefined` for a destroyed key. */
export type DataKeys = ReadonlyMap<string, Uint8Array | undefined>;

const personalMembers = new Map(
  Object.entries<EventDefinition>(eventCatalogue).map(([type, { personal }]) => [type, Object.keys(personal)]),
);
/** Returns the members of an event's data that are sealed when it is stored. */
export const personalMembersOf = ({ type }: Pick<StoredEvent, 'type'>): readonly string[] =>
  personalMembers.get(type) ?? [];

export const isSealed = (value: unknown): value is SealedText =>
  typeof value === 'object' && value !== null && 'enc' in value && 'kid' in value;

/** Collects the sealed texts of a value, at any depth. */
export const collectSealed = (value: unknown, found: SealedText[]): void => {
  if (isSealed(value)) found.push(value);
  else if (typeof value === 'object' && value !== null)
    for (const one of Object.values(value)) collectSealed(one, found);
};

/** Returns the sealed texts in the data of an event. Does not parse the data of events without personal members. */
export const sealedOf = (event: Pick<StoredEvent, 'type' | 'data'>): SealedText[] => {
  const found: SealedText[] = [];
  for (const member of personalMembersOf(event)) collectSealed(event.data[member], found);
  return found;
};

/** Returns the data of an event with its sealed texts decrypted. */
export const openedData = (event: Pick<StoredEvent, 'type' | 'data'>, keys: DataKeys): JsonObject => {
  const data: JsonObject = { ...event.data };
  for (const member of personalMembersOf(event)) {
    if (data[member] !== undefined) data[member] = openedValue(data[member], keys);
  }
  return data;
};

/** Returns the salt of an event's digest; `null` if its key was destroyed. */
export const openedSalt = ({ metadata: { salt } }: Pick<StoredEvent, 'metadata'>, keys: DataKeys): string | null =>
  isSealed(salt) ? open(keys.get(salt.kid), salt.enc) : null;

/** Decrypts every sealed text in a value, at any depth. */
export const openedValue = (value: JsonValue, keys: DataKeys): JsonValue =>
  mapTexts(value, isSealed, ({ enc, kid }) => open(keys.get(kid), enc));

/** Seals every text in a value, at any depth. */
export const sealedValue = (value: JsonValue, key: Uint8Array, kid: string): JsonValue =>
  mapTexts(value, isText, (text) => seal(key, kid, text));

const isText = (value: JsonValue): value is string => typeof value === 'string';

/** Replaces the values for which `isMeant` holds, at any depth. */
const mapTexts = <Meant extends JsonValue>(
  value: JsonValue,
  isMeant: (value: JsonValue) => value is Meant,
  replaced: (value: Meant) => JsonValue,
): JsonValue => {
  if (isMeant(value)) return replaced(value);
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, isMeant, replaced));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapTexts(one, isMeant, replaced)]));
};

export const seal = (key: Uint8Array, kid: string, text: string): SealedText => {
  const iv = someRandomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  const bytes = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return { enc: bytes.toString('base64url'), kid };
};

/** Whether this key opens a sealed text. */
export const opensSealed = (key: Uint8Array, { enc }: SealedText): boolean => {
  try {
    open(key, enc);
    return true;
  } catch {
    return false;
  }
};

/** Returns the text; `null` if the key was destroyed. */
export const open = (key: Uint8Array | undefined, enc: string): string | null => {
  if (!key) return null;
  const bytes = Buffer.from(enc, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8');
};
