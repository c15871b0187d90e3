import { eventCatalogue, type EventType } from '../../schemas/events/catalogue.ts';
import type { EventMetadata, SealedText } from '../../schemas/events/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { EventSealing } from '../event-store/transactions/event-sealing.ts';
import type { EventStore, EventToAppend, StoredEvent } from '../event-store/event-store.ts';
import { digestOf } from '../primitives/text/canonical-json.ts';
import type { Clock } from '../primitives/clock.ts';
import { someRandomBytes } from '../primitives/random-bytes.ts';
import type { KeyVault } from './key-vault.ts';
import { sealedIn } from './sealed-before.ts';
import {
  collectSealed,
  open,
  openedData,
  openedValue,
  personalMembersOf,
  seal,
  sealedOf,
  sealedValue,
  type DataKeys,
} from './sealed-members.ts';
import { dataKeyId, VaultKeys } from './vault-keys.ts';

const SALT_BYTES = 16;

interface HoldsKeys {
  keyVault: KeyVault;
  masterKey: Uint8Array;
  clock: Clock;
  eventStore: Pick<EventStore, 'read'>;
}

/** Personal data in a process that has the key vault and the master key. */
export const personalDataOf = ({ keyVault, masterKey, clock, eventStore }: HoldsKeys): PersonalData =>
  new PersonalData(new VaultKeys(keyVault, masterKey, clock, sealedIn(eventStore)));

/**
 * Encrypts the personal members of events before they are stored, with a key per user, and decrypts them when they are
 * read. Members whose key was destroyed become `null`.
 */
export class PersonalData implements EventSealing {
  constructor(readonly keys: VaultKeys) {}

  /** Seals a user's text. @throws Refusal user_erased */
  async sealText(userId: string, text: string): Promise<SealedText> {
    return seal(await this.keys.dataKey(userId), dataKeyId(userId), text);
  }

  /** Returns the text; `null` if the key was destroyed. */
  async openText({ enc, kid }: SealedText): Promise<string | null> {
    return open((await this.keys.open([kid])).get(kid), enc);
  }

  /** Returns an event in its stored form. @throws Refusal user_erased */
  async seal(event: EventToAppend): Promise<EventToAppend> {
    const { isAudited } = eventCatalogue[event.type as EventType];
    const personal = personalMembersOf(event);
    const { data } = event;
    const userId = data['userId'];
    if ((personal.length === 0 && !isAudited) || typeof userId !== 'string') return event;
    const kid = dataKeyId(userId);
    const key = personal.length > 0 ? await this.keys.dataKey(userId) : await this.keys.dataKeyIfAny(userId);
    // The end of a session may be stored after its user was erased. Its salt is kept nowhere.
    if (!key) return { ...event, metadata: { ...event.metadata, digest: digestOf(aSalt(), data), salt: null } };
    const sealed: JsonObject = { ...data };
    for (const member of personal) {
      if (data[member] !== undefined) sealed[member] = sealedValue(data[member], key, kid);
    }
    return { ...event, data: sealed, metadata: isAudited ? withDigest(event, key, kid) : event.metadata };
  }

  /** Returns a value with every sealed text in it opened, at any depth. */
  async openAll(value: JsonValue): Promise<JsonValue> {
    return openedValue(value, await this.keysOf(value));
  }

  /**
   * Returns events with their personal members decrypted; other events unchanged. Salts stay sealed: only a proof needs
   * them.
   */
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
    return events.map((event) => (withSealed.has(event) ? new OpenedEvent(event, openedData(event, keys)) : event));
  }

  /** Returns the keys of the sealed texts in a value, for a thread that decrypts them. */
  keysOf(value: unknown): Promise<DataKeys> {
    const found: SealedText[] = [];
    collectSealed(value, found);
    return this.keys.open(new Set(found.map(({ kid }) => kid)));
  }
}

/** A stored event whose data was decrypted. */
class OpenedEvent implements StoredEvent {
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly id: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly time: number;
  readonly dataText: string;
  readonly metadata: EventMetadata;

  constructor(
    stored: StoredEvent,
    readonly data: JsonObject,
  ) {
    this.stream = stored.stream;
    this.revision = stored.revision;
    this.position = stored.position;
    this.id = stored.id;
    this.type = stored.type;
    this.schemaVersion = stored.schemaVersion;
    this.time = stored.time;
    this.dataText = stored.dataText;
    this.metadata = stored.metadata;
  }
}

const aSalt = (): string => someRandomBytes(SALT_BYTES).toString('hex');

const withDigest = ({ metadata, data }: EventToAppend, key: Uint8Array, kid: string): EventMetadata => {
  const salt = aSalt();
  return { ...metadata, digest: digestOf(salt, data), salt: seal(key, kid, salt) };
};
