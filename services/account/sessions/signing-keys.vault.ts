import { createPrivateKey, createPublicKey } from 'node:crypto';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { everyKey } from '../../../shared/key-vault/every-key.ts';
import type { KeyVault, VaultKey } from '../../../shared/key-vault/key-vault.ts';
import { SealedKeys } from '../../../shared/key-vault/sealed-keys.ts';
import { newSigningKey, SIGNING_PREFIX, signingKeyId } from '../../../shared/key-vault/vault-keys.ts';
import { keyId } from '../../../shared/keys/public-jwk.ts';
import { toIso, type Clock } from '../../../shared/primitives/clock.ts';
import type { SigningKey, SigningKeyStore } from './signing-keys.ts';

/** Keys in the key vault, which account processes share. The vault has the first key from the beginning. */
export class SigningKeyVault implements SigningKeyStore {
  private readonly sealed: SealedKeys;
  private readonly opened = new Map<string, SigningKey>();

  /**
   * @param recordDestroyed records the destruction of a key outside the vault, so that it outlives a loss of the vault
   */
  constructor(
    private readonly vault: KeyVault,
    masterKey: Uint8Array,
    private readonly clock: Pick<Clock, 'now'>,
    private readonly recordDestroyed: (id: string) => Promise<void>,
  ) {
    this.sealed = new SealedKeys(vault, masterKey);
  }

  async load(): Promise<SigningKey[]> {
    const keys = (await this.stored()).flatMap((key) => this.open(key));
    if (keys.length === 0) {
      throw new CannotStart('the key vault has lost the keys that sign tokens: put it back, or restore its backup');
    }
    return keys;
  }

  /** If two processes add a key concurrently, one of the keys is added. */
  async add(): Promise<void> {
    const newest = (await this.stored()).at(-1)?.id.slice(SIGNING_PREFIX.length) ?? '0';
    const id = signingKeyId(Number(newest) + 1);
    await this.sealed.add([{ id, key: newSigningKey() }], toIso(this.clock.now()));
  }

  async keep(kids: ReadonlySet<string>): Promise<void> {
    for (const key of await this.stored()) {
      if (!this.open(key).some(({ kid }) => !kids.has(kid))) continue;
      await this.recordDestroyed(key.id);
      await this.vault.destroy(key.id, toIso(this.clock.now()));
    }
  }

  /** Also returns destroyed keys. */
  private async stored(): Promise<VaultKey[]> {
    const keys: VaultKey[] = [];
    for await (const key of everyKey(this.vault, SIGNING_PREFIX)) {
      if (!key.id.startsWith(SIGNING_PREFIX)) break;
      keys.push(key);
    }
    return keys;
  }

  /** Returns nothing for a destroyed key. */
  private open(stored: VaultKey): [] | [SigningKey] {
    const { id, createdAt } = stored;
    const known = this.opened.get(id);
    if (known && stored.sealed !== null) return [known];
    const der = this.sealed.open(stored);
    if (!der) {
      this.opened.delete(id);
      return [];
    }
    const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const publicKey = createPublicKey(privateKey);
    const key = { kid: keyId(publicKey), privateKey, publicKey, createdAt: Date.parse(createdAt) };
    this.opened.set(id, key);
    return [key];
  }
}
