/** A key as the vault stores it. */
export interface VaultKey {
  id: string;
  /** The key, encrypted with the master key; `null` once it was destroyed. */
  sealed: string | null;
  /** ISO 8601. */
  createdAt: string;
  /** ISO 8601. */
  destroyedAt: string | null;
}

export type NewVaultKey = Pick<VaultKey, 'id' | 'createdAt'> & { sealed: string };

/**
 * Keys that are needed for as long as what they encrypt or own: data keys of users, the key of identities, those that sign. All account
 * processes and the projector share it. What it loses, nobody can read any more.
 */
export interface KeyVault {
  /** Adds keys. One that is there already stays, also if it was destroyed. Returns what is there then, in the same order. */
  add(keys: readonly NewVaultKey[]): Promise<VaultKey[]>;
  /** Returns the keys that exist, by id. */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, VaultKey>>;
  /** Destroys a key for ever: it cannot be added any more, not even one that never was there. */
  destroy(id: string, at: string): Promise<void>;
  /** Encrypts a key anew. Returns whether it was `before` until now. */
  reseal(id: string, before: string, sealed: string): Promise<boolean>;
  /** Returns keys in the order of their ids. */
  list(after: string, limit: number): Promise<VaultKey[]>;
  close(): Promise<void>;
}
