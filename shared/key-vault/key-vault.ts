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

/** Tells this vault from every other, and its master key from every other. It is stored. */
export interface VaultIdentity {
  /** Also recorded in the event store that the vault belongs to. */
  vaultId: string;
  /** `vaultId`, encrypted with the master key: with another master key it cannot be opened. */
  check: string;
  /** Whether keys are being encrypted with another master key: `check` has the new one, some keys may have the old one. */
  isRewrapping: boolean;
}

/**
 * Keys that are needed for as long as what they encrypt or own: data keys of users, the key of identities, those that sign. All account
 * processes and the projector share it. What it loses, nobody can read any more.
 */
export interface KeyVault {
  /** Returns `undefined` of a vault that was never given one. */
  identity(): Promise<VaultIdentity | undefined>;
  /** Sets the identity if its check value is this one until now. Returns what the identity is then. */
  identify(identity: VaultIdentity, checkBefore: string | undefined): Promise<VaultIdentity>;
  /**
   * Adds keys, in this order. One that is there already stays, also if it was destroyed. Returns what is there then, in the
   * same order.
   * @param check the check value that the keys are encrypted beside; `undefined` for a vault without an identity
   * @throws Refusal dependency_unavailable if the vault has another check value: then nothing is added
   */
  add(keys: readonly NewVaultKey[], check: string | undefined): Promise<VaultKey[]>;
  /** Returns the keys that exist, by id. */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, VaultKey>>;
  /** Destroys a key for ever: it cannot be added any more, not even one that never was there. */
  destroy(id: string, at: string): Promise<void>;
  /** Encrypts a key anew. Returns whether it was `before` until now. */
  reseal(id: string, before: string, sealed: string): Promise<boolean>;
  /** Returns keys in the order of their ids. */
  list(after: string, limit: number): Promise<VaultKey[]>;
  /**
   * Uses the vault beside others, or alone, until it is closed. An embedded vault leaves this to the lock of its folder.
   * @throws CannotStart if another process prevents it
   */
  use(how: 'shared' | 'alone'): Promise<void>;
  close(): Promise<void>;
}

/** The name of the vault's database, where the read store has this one. */
export const vaultDatabase = (database: string): string => `${database}_vault`;

/** A process whose master key is not the vault's may add nothing to it. */
export const foreignCheck = (): Refusal =>
  unavailable(
    'the key vault takes no key of this process: its master key was replaced, or the vault was; start the process again',
    undefined,
  );
