import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { CannotStart } from '../errors/cannot-start.ts';
import { Refusal, unavailable } from '../errors/refusal.ts';
import { deriveKey, KEY_BYTES } from '../keys/derive-key.ts';
import { openText, sealText } from '../keys/sealed-text.ts';
import { addressOfKey, newPrivateKey } from '../keys/secp256k1-keys.ts';
import { KeptValues } from '../primitives/kept-values.ts';
import { toIso, type Clock } from '../primitives/clock.ts';
import type { KeyVault, VaultKey } from './key-vault.ts';
import type { SealedBefore } from './sealed-before.ts';

const KEYS_MAX = 20_000;
/** How long another process may go on to use a key that was destroyed. */
const KEPT_MS = 60_000;
const IDENTITIES = 'identities';
const AUDIT = 'audit';

const VAULT_LOST =
  'the key vault is empty, and the event store has personal data that was encrypted with its keys: ' +
  'put the vault back, or restore its backup with "annals vault restore"';

const lost = (id: string): Refusal =>
  unavailable('the key vault lacks a key: restore it from its backup', new Error(`no key ${id}`));

export const wrongMasterKey = (cause: unknown): CannotStart =>
  new CannotStart('the key vault cannot be opened with this MASTER_KEY: put back the key it was made with', { cause });

/** Every key in the vault is encrypted with this one. */
export const wrappingKeyOf = (masterKey: Uint8Array): Buffer => deriveKey(masterKey, 'key vault');

/** The id of the key that encrypts a user's personal data. */
export const dataKeyId = (userId: string): string => `data-${userId}`;
const ownerKeyId = (userId: string): string => `owner-${userId}`;
export const userKeyIds = (userId: string): string[] => [dataKeyId(userId), ownerKeyId(userId)];

type MakeKeys = () => { id: string; key: Buffer }[] | Promise<{ id: string; key: Buffer }[]>;

/** The keys of a vault, opened with the master key. */
export class VaultKeys {
  private readonly wrappingKey: Uint8Array;
  private readonly opened: KeptValues<Buffer>;
  private readonly making = new Map<string, Promise<Buffer | undefined>>();

  constructor(
    readonly vault: KeyVault,
    masterKey: Uint8Array,
    private readonly clock: Clock,
    private readonly sealedBefore: SealedBefore,
  ) {
    this.wrappingKey = wrappingKeyOf(masterKey);
    this.opened = new KeptValues(clock, { max: KEYS_MAX, keptMs: KEPT_MS });
  }

  /**
   * Returns the key of a user's personal data, which is made when it is first asked for.
   * @throws Refusal user_erased, and dependency_unavailable if the vault lost it
   */
  async dataKey(userId: string): Promise<Buffer> {
    const key = await this.dataKeyIfAny(userId);
    if (!key) throw new Refusal('user_erased', 'this user was erased');
    return key;
  }

  /** Returns that key, or `undefined` if it was destroyed. */
  dataKeyIfAny(userId: string): Promise<Buffer | undefined> {
    return this.findOrMake(dataKeyId(userId), async () => {
      if (await this.sealedBefore.ofUser(userId)) throw lost(dataKeyId(userId));
      // The other one will be asked for too: they are added in one commit.
      return [
        { id: dataKeyId(userId), key: randomBytes(KEY_BYTES) },
        { id: ownerKeyId(userId), key: newPrivateKey() },
      ];
    });
  }

  /**
   * Returns the address of the key that owns a user's smart accounts, in EIP-55 form. See ownerKey.
   * @throws Refusal user_erased
   */
  async ownerOf(userId: string): Promise<string> {
    return addressOfKey(await this.ownerKey(userId));
  }

  /**
   * Returns the private key that owns a user's smart accounts, which is made when it is first asked for. Whoever knows the
   * address compares it: a vault that has lost the key makes another.
   * @throws Refusal user_erased
   */
  async ownerKey(userId: string): Promise<Buffer> {
    const id = ownerKeyId(userId);
    const key = await this.findOrMake(id, () => [{ id, key: newPrivateKey() }]);
    if (!key) throw new Refusal('user_erased', 'this user was erased');
    return key;
  }

  /**
   * Returns the key under which identities are hashed; the first process makes it.
   * @throws CannotStart if the vault was made with another master key, or belongs to another event store
   */
  async identitiesKey(): Promise<Buffer> {
    try {
      return await this.sharedKey(IDENTITIES, async () => {
        if (await this.sealedBefore.anyUsers()) throw new CannotStart(VAULT_LOST);
        return randomBytes(KEY_BYTES);
      });
    } catch (cause) {
      if (cause instanceof Refusal || cause instanceof CannotStart) throw cause;
      throw wrongMasterKey(cause);
    }
  }

  /** Returns the private key that owns the paymaster of a chain, and signs for it. */
  paymasterKey(chainId: number): Promise<Buffer> {
    return this.sharedKey(`paymaster-${String(chainId)}`, newPrivateKey);
  }

  /** Returns the private key of one of the accounts that send bundles to a chain, counted from 0. */
  executorKey(chainId: number, number: number): Promise<Buffer> {
    return this.sharedKey(`executor-${String(chainId)}-${String(number)}`, newPrivateKey);
  }

  /** Returns the private key (PKCS #8, DER) that signs exports of histories, and nothing else. */
  auditKey(): Promise<Buffer> {
    return this.sharedKey(AUDIT, () =>
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'der' }),
    );
  }

  /**
   * Returns keys by id; `undefined` of those that were destroyed.
   * @throws Refusal dependency_unavailable when the vault does not answer, or has lost a key
   */
  async open(ids: Iterable<string>): Promise<ReadonlyMap<string, Buffer | undefined>> {
    const keys = new Map<string, Buffer | undefined>();
    const missing: string[] = [];
    for (const id of ids) {
      const known = this.opened.get(id);
      if (known) keys.set(id, known);
      else missing.push(id);
    }
    if (missing.length === 0) return keys;
    const found = await this.vault.get(missing);
    for (const id of missing) {
      const stored = found.get(id);
      if (!stored) throw lost(id);
      keys.set(id, this.remember(stored));
    }
    return keys;
  }

  /** Destroys all keys of a user, for ever. */
  async destroyKeysOf(userId: string): Promise<void> {
    for (const id of userKeyIds(userId)) {
      await this.vault.destroy(id, toIso(this.clock.now()));
      this.opened.delete(id);
    }
  }

  /** A key of the service, which nobody destroys. */
  private async sharedKey(id: string, newKey: () => Buffer | Promise<Buffer>): Promise<Buffer> {
    const key = await this.findOrMake(id, async () => [{ id, key: await newKey() }]);
    if (!key) throw new Error(`the key ${id} was destroyed`);
    return key;
  }

  /** @param newKeys this key, and others to make with it */
  private async findOrMake(id: string, newKeys: MakeKeys): Promise<Buffer | undefined> {
    const known = this.opened.get(id);
    if (known) return known;
    const making = this.making.get(id) ?? this.make(id, newKeys);
    this.making.set(id, making);
    try {
      return await making;
    } finally {
      this.making.delete(id);
    }
  }

  private async make(id: string, newKeys: MakeKeys): Promise<Buffer | undefined> {
    const found = (await this.vault.get([id])).get(id);
    if (found) return this.remember(found);
    const createdAt = toIso(this.clock.now());
    const keys = await newKeys();
    const added = await this.vault.add(
      keys.map(({ id: one, key }) => ({ id: one, sealed: this.seal(one, key), createdAt })),
    );
    return added.map((one) => this.remember(one))[0];
  }

  private remember({ id, sealed }: VaultKey): Buffer | undefined {
    if (sealed === null) return undefined;
    const key = Buffer.from(openText(this.wrappingKey, id, sealed), 'base64');
    this.opened.set(id, key);
    return key;
  }

  private seal(id: string, key: Buffer): string {
    return sealText(this.wrappingKey, id, key.toString('base64'));
  }
}
