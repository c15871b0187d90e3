import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { eventCatalogue, type EventType } from '../../schemas/events/catalogue.ts';
import type { EventDefinition, EventMetadata, SealedText } from '../../schemas/events/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { EventSealing } from '../event-store/event-sealing.ts';
import type { EventStore, EventToAppend, StoredEvent } from '../event-store/event-store.ts';
import { digestOf } from '../primitives/canonical-json.ts';
import type { Clock } from '../primitives/clock.ts';
import type { KeyVault } from './key-vault.ts';
import { sealedIn } from './sealed-before.ts';
import { dataKeyId, VaultKeys } from './vault-keys.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;
const SALT_BYTES = 16;

interface HoldsKeys {
  keyVault: KeyVault;
  masterKey: Uint8Array;
  clock: Clock;
  eventStore: Pick<EventStore, 'read'>;
}

/** The personal data of a process that has the key vault and the master key. */
export const personalDataOf = ({ keyVault, masterKey, clock, eventStore }: HoldsKeys): PersonalData =>
  new PersonalData(new VaultKeys(keyVault, masterKey, clock, sealedIn(eventStore)));

/**
 * Encrypts the personal members of events before they are stored, each user's with a key of its own, and opens them again.
 * Where a key was destroyed, its members are `null`.
 */
export class PersonalData implements EventSealing {
  constructor(readonly keys: VaultKeys) {}

  /** Seals a user's text. @throws Refusal user_erased */
  async sealText(userId: string, text: string): Promise<SealedText> {
    return seal(await this.keys.dataKey(userId), dataKeyId(userId), text);
  }

  /** Returns the text; `null` where the key was destroyed. */
  async openText({ enc, kid }: SealedText): Promise<string | null> {
    return open((await this.keys.open([kid])).get(kid), enc);
  }

  /** Returns an event as it is stored. @throws Refusal user_erased */
  async seal(event: EventToAppend): Promise<EventToAppend> {
    const { personal, isAudited } = eventCatalogue[event.type as EventType];
    const { data } = event;
    const userId = data['userId'];
    if ((personal.length === 0 && !isAudited) || typeof userId !== 'string') return event;
    const kid = dataKeyId(userId);
    const key = personal.length > 0 ? await this.keys.dataKey(userId) : await this.keys.dataKeyIfAny(userId);
    // The end of a session may be stored after its user was erased. Nobody knows its salt.
    if (!key) return { ...event, metadata: { ...event.metadata, digest: digestOf(aSalt(), data), salt: null } };
    const sealed: JsonObject = { ...data };
    for (const member of personal) {
      if (data[member] !== undefined) sealed[member] = mapTexts(data[member], isText, (text) => seal(key, kid, text));
    }
    return { ...event, data: sealed, metadata: isAudited ? withDigest(event, key, kid) : event.metadata };
  }

  /** Returns a value with every sealed text in it opened, at any depth. */
  async openAll(value: JsonValue): Promise<JsonValue> {
    const found: SealedText[] = [];
    collectSealed(value, found);
    const keys = await this.keys.open(new Set(found.map(({ kid }) => kid)));
    return mapTexts(value, isSealed, ({ enc, kid }) => open(keys.get(kid), enc));
  }

  /** Returns events with their personal members and salts in the clear, the others as they are. */
  async open(events: readonly StoredEvent[]): Promise<StoredEvent[]> {
    const kids = new Set<string>();
    const withSealed = new Set<StoredEvent>();
    for (const event of events) {
      for (const { kid } of sealedOf(event)) {
        kids.add(kid);
        withSealed.add(event);
      }
    }
    if (kids.size === 0) return [...events];
    const keys = await this.keys.open(kids);
    const opened = ({ enc, kid }: SealedText) => open(keys.get(kid), enc);
    return events.map((event) => (withSealed.has(event) ? openedEvent(event, opened) : event));
  }
}

/** Of other events, such as those of chains, neither data nor metadata is parsed. */
const sealedOf = (event: StoredEvent): SealedText[] => {
  const found: SealedText[] = [];
  const { personal, isAudited } = definitionOf(event);
  for (const member of personal) collectSealed(event.data[member], found);
  if (isAudited) collectSealed(event.metadata.salt, found);
  return found;
};

const NOTHING_SEALED = { personal: [], isAudited: false };
const definitionOf = ({ type }: { type: string }): Pick<EventDefinition, 'personal' | 'isAudited'> =>
  Object.hasOwn(eventCatalogue, type) ? eventCatalogue[type as EventType] : NOTHING_SEALED;

const isSealed = (value: unknown): value is SealedText =>
  typeof value === 'object' && value !== null && 'enc' in value && 'kid' in value;

const collectSealed = (value: unknown, found: SealedText[]): void => {
  if (isSealed(value)) found.push(value);
  else if (typeof value === 'object' && value !== null)
    for (const one of Object.values(value)) collectSealed(one, found);
};

const openedEvent = (event: StoredEvent, opened: (sealed: SealedText) => string | null): StoredEvent => {
  const data = { ...event.data };
  for (const member of definitionOf(event).personal) {
    if (data[member] !== undefined) data[member] = mapTexts(data[member], isSealed, opened);
  }
  const { salt } = event.metadata;
  const metadata = isSealed(salt) ? { ...event.metadata, salt: opened(salt) } : event.metadata;
  return new OpenedEvent(event, data, metadata);
};

/** Replaces the values that are meant, at any depth. */
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

/** A stored event, but for what was opened. */
class OpenedEvent implements StoredEvent {
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly id: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly time: number;
  readonly dataText: string;

  constructor(
    stored: StoredEvent,
    readonly data: JsonObject,
    readonly metadata: EventMetadata,
  ) {
    this.stream = stored.stream;
    this.revision = stored.revision;
    this.position = stored.position;
    this.id = stored.id;
    this.type = stored.type;
    this.schemaVersion = stored.schemaVersion;
    this.time = stored.time;
    this.dataText = stored.dataText;
  }
}

const isText = (value: JsonValue): value is string => typeof value === 'string';

const aSalt = (): string => randomBytes(SALT_BYTES).toString('hex');

const withDigest = ({ metadata, data }: EventToAppend, key: Uint8Array, kid: string): EventMetadata => {
  const salt = aSalt();
  return { ...metadata, digest: digestOf(salt, data), salt: seal(key, kid, salt) };
};

const seal = (key: Uint8Array, kid: string, text: string): SealedText => {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  const bytes = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return { enc: bytes.toString('base64url'), kid };
};

/** Whether this key opens what was sealed. */
export const opensSealed = (key: Uint8Array, { enc }: SealedText): boolean => {
  try {
    open(key, enc);
    return true;
  } catch {
    return false;
  }
};

const open = (key: Uint8Array | undefined, enc: string): string | null => {
  if (!key) return null;
  const bytes = Buffer.from(enc, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8');
};
