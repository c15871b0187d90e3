import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { everyKey } from '../../../shared/key-vault/every-key.ts';
import type { KeyVault, VaultKey } from '../../../shared/key-vault/key-vault.ts';
import { wrappingKeyOf, wrongMasterKey } from '../../../shared/key-vault/vault-keys.ts';
import { keyId } from '../../../shared/keys/public-jwk.ts';
import { openText, sealText } from '../../../shared/keys/sealed-text.ts';
import { toIso, type Clock } from '../../../shared/primitives/clock.ts';
import type { SigningKey, SigningKeyStore } from './signing-keys.ts';

/** Numbered in the order of creation. */
const PREFIX = 'token-signing-';
const idOf = (number: number): string => PREFIX + String(number).padStart(4, '0');

/** Keys in the key vault, which account processes share: PKCS #8, DER, in base64. */
export class SigningKeyVault implements SigningKeyStore {
  private readonly wrappingKey: Buffer;
  private readonly opened = new Map<string, SigningKey>();

  constructor(
    private readonly vault: KeyVault,
    masterKey: Uint8Array,
    private readonly clock: Pick<Clock, 'now'>,
  ) {
    this.wrappingKey = wrappingKeyOf(masterKey);
  }

  async load(): Promise<SigningKey[]> {
    if (this.opened.size === 0 && (await this.stored()).length === 0) await this.add();
    const keys = (await this.stored()).flatMap((key) => this.open(key));
    if (keys.length === 0) {
      throw new CannotStart('the key vault has lost the keys that sign tokens: put it back, or restore its backup');
    }
    return keys;
  }

  /** Of two processes that add one at once, the key of one is added. */
  async add(): Promise<void> {
    const id = idOf((await this.stored()).length + 1);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64');
    await this.vault.add([{ id, sealed: sealText(this.wrappingKey, id, key), createdAt: toIso(this.clock.now()) }]);
  }

  async keep(kids: ReadonlySet<string>): Promise<void> {
    for (const key of await this.stored()) {
      if (this.open(key).some(({ kid }) => !kids.has(kid))) await this.vault.destroy(key.id, toIso(this.clock.now()));
    }
  }

  /** Returns also those that were destroyed. */
  private async stored(): Promise<VaultKey[]> {
    const keys: VaultKey[] = [];
    for await (const key of everyKey(this.vault, PREFIX)) {
      if (!key.id.startsWith(PREFIX)) break;
      keys.push(key);
    }
    return keys;
  }

  /** Returns nothing of a key that was destroyed. @throws CannotStart */
  private open({ id, sealed, createdAt }: VaultKey): [] | [SigningKey] {
    if (sealed === null) {
      this.opened.delete(id);
      return [];
    }
    const known = this.opened.get(id);
    if (known) return [known];
    const privateKey = createPrivateKey({ key: this.unwrapped(id, sealed), format: 'der', type: 'pkcs8' });
    const publicKey = createPublicKey(privateKey);
    const key = { kid: keyId(publicKey), privateKey, publicKey, createdAt: Date.parse(createdAt) };
    this.opened.set(id, key);
    return [key];
  }

  private unwrapped(id: string, sealed: string): Buffer {
    try {
      return Buffer.from(openText(this.wrappingKey, id, sealed), 'base64');
    } catch (cause) {
      throw wrongMasterKey(cause);
    }
  }
}
