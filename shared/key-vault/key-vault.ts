import { unavailable, type Refusal } from '../errors/refusal.ts';

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

/** Identifies a vault and its master key. Stored data. */
export interface VaultIdentity {
  /** Also recorded in the event store that the vault belongs to. */
  vaultId: string;
  /** `vaultId`, encrypted with the master key. No other master key opens it. */
  check: string;
  /**
   * Whether keys are being encrypted with a new master key: `check` has the new one already, some keys may have the old
   * one.
   */
  isRewrapping: boolean;
}

/**
 * Keys that are needed as long as what they encrypt or own: data keys of users, the key of identities, signing keys.
 * All account processes and the projector share the vault. What was encrypted with a lost key cannot be read any more.
 */
export interface KeyVault {
  /** Returns `undefined` for a vault that never got an identity. */
  identity(): Promise<VaultIdentity | undefined>;
  /** Sets the identity if the stored check value is `checkBefore`. Returns the identity stored afterwards. */
  identify(identity: VaultIdentity, checkBefore: string | undefined): Promise<VaultIdentity>;
  /**
   * Adds keys, in this order. An existing key stays, also if it was destroyed. Returns the stored keys in the same
   * order.
   * @param check the check value of the master key with which the keys are encrypted; `undefined` for a vault without
   * an identity
   * @throws Refusal dependency_unavailable if the vault has another check value: then nothing is added
   */
  add(keys: readonly NewVaultKey[], check: string | undefined): Promise<VaultKey[]>;
  /** Returns the keys that exist, by id. */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, VaultKey>>;
  /** Destroys a key for ever. Its id cannot be added any more, even if it never existed. */
  destroy(id: string, at: string): Promise<void>;
  /** Replaces the encrypted form of a key. Returns whether the stored form was `before`. */
  reseal(id: string, before: string, sealed: string): Promise<boolean>;
  /** Returns keys in the order of their ids. */
  list(after: string, limit: number): Promise<VaultKey[]>;
  /**
   * Uses the vault beside other processes, or alone, until it is closed. An embedded vault relies on the lock of its
   * folder.
   * @throws CannotStart if another process prevents this
   */
  use(how: 'shared' | 'alone'): Promise<void>;
  close(): Promise<void>;
}

/** The name of the vault's database, beside a read store in `database`. */
export const vaultDatabase = (database: string): string => `${database}_vault`;

/** Refuses to add keys for a process whose master key is not the vault's. */
export const foreignCheck = (): Refusal =>
  unavailable(
    'the key vault takes no key of this process: its master key was replaced, or the vault was; start the process again',
    undefined,
  );
