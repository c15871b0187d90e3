import { unavailable } from '../errors/refusal.ts';
import { deriveKey } from '../keys/derive-key.ts';
import { openText, sealText, tryOpenText } from '../keys/sealed-text.ts';
import { foreignCheck, type KeyVault, type VaultIdentity, type VaultKey } from './key-vault.ts';

export interface NewKey {
  id: string;
  key: Buffer;
}

/** Returns the key with which every key in the vault is encrypted. */
export const wrappingKeyOf = (masterKey: Uint8Array): Buffer => deriveKey(masterKey, 'key vault');

const isUserKey = (id: string): boolean => /^(data|owner)-/.test(id);

const CHECK = 'check value';

/** Returns a check value, which only the same wrapping key opens. */
export const sealCheck = (wrappingKey: Uint8Array, vaultId: string): string => sealText(wrappingKey, CHECK, vaultId);

/** Whether the keys of the vault are encrypted with this wrapping key. */
export const opensCheck = (wrappingKey: Uint8Array, { vaultId, check }: Omit<VaultIdentity, 'isRewrapping'>): boolean =>
  tryOpenText(wrappingKey, CHECK, check) === vaultId;

export const sealKey = (wrappingKey: Uint8Array, { id, key }: NewKey): string =>
  sealText(wrappingKey, id, key.toString('base64'));

/** The keys of a vault, for a process with its master key: decrypts keys and adds new ones. */
export class SealedKeys {
  private readonly wrappingKey: Buffer;

  constructor(
    readonly vault: KeyVault,
    masterKey: Uint8Array,
  ) {
    this.wrappingKey = wrappingKeyOf(masterKey);
  }

  /**
   * Returns the key; `undefined` if it was destroyed.
   * @throws Refusal dependency_unavailable if a byte of it was changed, or if it was encrypted with another master key
   */
  open({ id, sealed }: Pick<VaultKey, 'id' | 'sealed'>): Buffer | undefined {
    if (sealed === null) return undefined;
    try {
      return Buffer.from(openText(this.wrappingKey, id, sealed), 'base64');
    } catch (cause) {
      const damaged =
        'it is damaged, or the master key was replaced; "annals vault restore --replace" takes it from a backup';
      const what = `the key ${id} of the key vault cannot be opened: ${damaged}`;
      // The id of a user's key contains the user's id, which not every caller may know.
      throw unavailable(isUserKey(id) ? 'a key of the key vault cannot be opened' : what, new Error(what, { cause }));
    }
  }

  /**
   * Adds keys, unless they exist. Returns the stored keys in the same order.
   * @throws Refusal dependency_unavailable if the vault's keys are encrypted with another master key than this process
   * has
   */
  async add(keys: readonly NewKey[], createdAt: string): Promise<VaultKey[]> {
    const identity = await this.vault.identity();
    if (!identity || identity.isRewrapping || !opensCheck(this.wrappingKey, identity)) throw foreignCheck();
    const sealed = keys.map((key) => ({ id: key.id, sealed: sealKey(this.wrappingKey, key), createdAt }));
    return this.vault.add(sealed, identity.check);
  }
}
