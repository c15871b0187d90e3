import {
  foreignCheck,
  type KeyVault,
  type NewVaultKey,
  type VaultIdentity,
  type VaultKey,
} from '../../key-vault/key-vault.ts';

/** A key vault in the memory of one process. */
export class MemoryKeyVault implements KeyVault {
  private readonly keys = new Map<string, VaultKey>();
  private identified: VaultIdentity | undefined;

  identity(): Promise<VaultIdentity | undefined> {
    return Promise.resolve(this.identified);
  }

  identify(identity: VaultIdentity, checkBefore: string | undefined): Promise<VaultIdentity> {
    if (this.identified?.check === checkBefore) this.identified = identity;
    return this.identified ? Promise.resolve(this.identified) : Promise.reject(foreignCheck());
  }

  add(keys: readonly NewVaultKey[], check: string | undefined): Promise<VaultKey[]> {
    if (this.identified?.check !== check) return Promise.reject(foreignCheck());
    const added = keys.map((key) => {
      const known = this.keys.get(key.id) ?? { ...key, destroyedAt: null };
      this.keys.set(key.id, known);
      return known;
    });
    return Promise.resolve(added);
  }

  get(ids: readonly string[]): Promise<ReadonlyMap<string, VaultKey>> {
    const found = ids.flatMap((id) => this.keys.get(id) ?? []);
    return Promise.resolve(new Map(found.map((key) => [key.id, key])));
  }

  destroy(id: string, at: string): Promise<void> {
    const known = this.keys.get(id);
    this.keys.set(id, { id, createdAt: known?.createdAt ?? at, sealed: null, destroyedAt: known?.destroyedAt ?? at });
    return Promise.resolve();
  }

  reseal(id: string, before: string, sealed: string): Promise<boolean> {
    const known = this.keys.get(id);
    if (known?.sealed !== before) return Promise.resolve(false);
    this.keys.set(id, { ...known, sealed });
    return Promise.resolve(true);
  }

  list(after: string, limit: number): Promise<VaultKey[]> {
    const inOrder = [...this.keys.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    return Promise.resolve(inOrder.filter(({ id }) => id > after).slice(0, limit));
  }

  use(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
