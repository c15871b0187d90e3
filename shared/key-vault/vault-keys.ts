import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { Refusal, unavailable } from '../errors/refusal.ts';
import { KEY_BYTES } from '../keys/derive-key.ts';
import { addressOfKey, newPrivateKey } from '../keys/signatures/secp256k1-keys.ts';
import { TtlCache } from '../primitives/ttl-cache.ts';
import { toIso, type Clock } from '../primitives/clock.ts';
import type { KeyVault, VaultKey } from './key-vault.ts';
import type { SealedBefore } from './sealed-before.ts';
import { SealedKeys, type NewKey } from './sealed-keys.ts';

const KEYS_MAX = 20_000;
/** Cache time of decrypted keys: how long another process may still use a destroyed key. */
const KEPT_MS = 60_000;
const IDENTITIES = 'identities';
const AUDIT = 'audit';
export const LOG_KEY = 'log';
const paymasterId = (chainId: number): string => `paymaster-${String(chainId)}`;
const executorId = (chainId: number, number: number): string => `executor-${String(chainId)}-${String(number)}`;

/** The ids of a paymaster's key and of the keys of this many executors. */
export const chainKeyIds = (chainId: number, executors: number): string[] => [
  paymasterId(chainId),
  ...Array.from({ length: executors }, (_, number) => executorId(chainId, number)),
];

/** Prefix of the ids of token-signing keys; a number follows, in the order of creation. */
export const SIGNING_PREFIX = 'token-signing-';
export const signingKeyId = (number: number): string => SIGNING_PREFIX + String(number).padStart(4, '0');
/** Returns a private key for ES256: PKCS #8, DER. */
export const newSigningKey = (): Buffer =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'der' });

/** The service's keys that a vault has from the beginning. */
export const firstKeys = (): NewKey[] => [
  { id: IDENTITIES, key: randomBytes(KEY_BYTES) },
  { id: AUDIT, key: newSigningKey() },
  { id: signingKeyId(1), key: newSigningKey() },
];

const lostUserKey = (id: string): Refusal =>
  unavailable('the key vault lacks a key: restore it from its backup', new Error(`no key ${id}`));

/** For a key of the service: its id reveals nothing about a person. */
const lost = (id: string): Refusal =>
  unavailable(`the key vault lacks the key ${id}: restore the vault from its backup`, undefined);

export const DATA_KEY_PREFIX = 'data-';
/** The id of the key that encrypts a user's personal data. */
export const dataKeyId = (userId: string): string => DATA_KEY_PREFIX + userId;
const ownerKeyId = (userId: string): string => `owner-${userId}`;
export const userKeyIds = (userId: string): string[] => [dataKeyId(userId), ownerKeyId(userId)];

/**
 * The keys of a vault, opened with the master key. Keys of new users are created on first use, all others beforehand.
 */
export class VaultKeys {
  private readonly sealed: SealedKeys;
  private readonly opened: TtlCache<Buffer>;
  private readonly making = new Map<string, Promise<void>>();

  constructor(
    readonly vault: KeyVault,
    masterKey: Uint8Array,
    private readonly clock: Clock,
    private readonly sealedBefore: SealedBefore,
  ) {
    this.sealed = new SealedKeys(vault, masterKey);
    this.opened = new TtlCache(clock, { max: KEYS_MAX, ttlMs: KEPT_MS });
  }

  /**
   * Returns the key of a user's personal data, creating it on first use.
   * @throws Refusal user_erased, and dependency_unavailable if the vault lost it
   */
  async dataKey(userId: string): Promise<Buffer> {
    const key = await this.dataKeyIfAny(userId);
    if (!key) throw new Refusal('user_erased', 'this user was erased');
    return key;
  }

  /** Returns the same key, or `undefined` if it was destroyed. */
  async dataKeyIfAny(userId: string): Promise<Buffer | undefined> {
    const id = dataKeyId(userId);
    const found = await this.find([id]);
    if (found.has(id)) return found.get(id);
    await this.makeKeysOf(userId);
    return (await this.open([id])).get(id);
  }

  /**
   * Returns the address of the key that owns a user's smart accounts, in EIP-55 form. See `ownerKey`.
   * @throws Refusal user_erased
   */
  async ownerOf(userId: string): Promise<string> {
    return addressOfKey(await this.ownerKey(userId));
  }

  /**
   * Returns the private key that owns a user's smart accounts, created together with the data key.
   * @throws Refusal user_erased, and dependency_unavailable if the vault lost it
   */
  async ownerKey(userId: string): Promise<Buffer> {
    const id = ownerKeyId(userId);
    if (!(await this.find([id])).has(id)) await this.makeKeysOf(userId);
    const key = (await this.open([id])).get(id);
    if (!key) throw new Refusal('user_erased', 'this user was erased');
    return key;
  }

  /** Returns the key for the keyed hashes of identities. */
  identitiesKey(): Promise<Buffer> {
    return this.serviceKey(IDENTITIES);
  }

  /** Returns the private key that owns a chain's paymaster and signs for it. */
  paymasterKey(chainId: number): Promise<Buffer> {
    return this.serviceKey(paymasterId(chainId));
  }

  /** Returns the private key of an executor, an account that sends bundles to a chain. Counted from 0. */
  executorKey(chainId: number, number: number): Promise<Buffer> {
    return this.serviceKey(executorId(chainId, number));
  }

  /** Like `paymasterKey`, for a chain that may never have been prepared. */
  async paymasterKeyIfAny(chainId: number): Promise<Buffer | undefined> {
    const id = paymasterId(chainId);
    return (await this.find([id])).get(id);
  }

  /** Creates keys for a chain that was never prepared with them, unless they exist. */
  async makeChainKeys(chainId: number, { paymaster, executors }: NewChainKeys): Promise<void> {
    await this.sealed.add(
      [...(paymaster ? [paymasterId(chainId)] : []), ...executors.map((number) => executorId(chainId, number))].map(
        (id) => ({ id, key: newPrivateKey() }),
      ),
      toIso(this.clock.now()),
    );
  }

  /** Returns the private key (PKCS #8, DER) that signs exports of histories, and nothing else. */
  auditKey(): Promise<Buffer> {
    return this.serviceKey(AUDIT);
  }

  /** Returns the private key that signs the checkpoints of the log: the seed of an Ed25519 key, 32 bytes. */
  logKey(): Promise<Buffer> {
    return this.serviceKey(LOG_KEY);
  }

  /** Creates the log's key, unless it exists: vaults of version 0.2.0 have none. */
  async makeLogKey(): Promise<void> {
    await this.sealed.add([{ id: LOG_KEY, key: randomBytes(KEY_BYTES) }], toIso(this.clock.now()));
  }

  /**
   * Returns keys by id; `undefined` for a destroyed key.
   * @throws Refusal dependency_unavailable if the vault does not answer, or has lost a key
   */
  async open(ids: Iterable<string>): Promise<ReadonlyMap<string, Buffer | undefined>> {
    const wanted = [...ids];
    const keys = await this.find(wanted);
    for (const id of wanted) if (!keys.has(id)) throw lostUserKey(id);
    return keys;
  }

  /** Destroys all keys of a user, for ever. */
  async destroyKeysOf(userId: string): Promise<void> {
    for (const id of userKeyIds(userId)) {
      await this.vault.destroy(id, toIso(this.clock.now()));
      this.opened.delete(id);
    }
  }

  /** A key of the service, which is never destroyed. */
  private async serviceKey(id: string): Promise<Buffer> {
    const key = (await this.find([id])).get(id);
    if (!key) throw lost(id);
    return key;
  }

  /** Returns the existing keys; `undefined` for a destroyed key. */
  private async find(ids: readonly string[]): Promise<Map<string, Buffer | undefined>> {
    const keys = new Map<string, Buffer | undefined>();
    const unknown: string[] = [];
    for (const id of ids) {
      const known = this.opened.get(id);
      if (known) keys.set(id, known);
      else unknown.push(id);
    }
    if (unknown.length === 0) return keys;
    for (const stored of (await this.vault.get(unknown)).values()) keys.set(stored.id, this.remember(stored));
    return keys;
  }

  /**
   * Creates both keys of a new user.
   * @throws Refusal dependency_unavailable if the user is not new, and the keys were lost
   */
  private async makeKeysOf(userId: string): Promise<void> {
    const making = this.making.get(userId) ?? this.makeBoth(userId);
    this.making.set(userId, making);
    try {
      await making;
    } finally {
      this.making.delete(userId);
    }
  }

  /** Stores the data key last: if it exists, so does the owner key, also in a backup made meanwhile. */
  private async makeBoth(userId: string): Promise<void> {
    const [dataKey, ownerKey] = [dataKeyId(userId), ownerKeyId(userId)];
    if (await this.sealedBefore.ofUser(userId)) {
      if (!(await this.find([dataKey])).has(dataKey)) throw lostUserKey(dataKey);
      // Users of early versions had no owner key before a chain was served.
      if (await this.sealedBefore.accountOf(userId)) throw lostUserKey(ownerKey);
    }
    const keys = [
      { id: ownerKey, key: newPrivateKey() },
      { id: dataKey, key: randomBytes(KEY_BYTES) },
    ];
    for (const stored of await this.sealed.add(keys, toIso(this.clock.now()))) this.remember(stored);
  }

  private remember(stored: VaultKey): Buffer | undefined {
    const key = this.sealed.open(stored);
    if (key) this.opened.set(stored.id, key);
    return key;
  }
}

interface NewChainKeys {
  paymaster: boolean;
  /** Their numbers, counted from 0. */
  executors: readonly number[];
}
