import type { KeyVault, VaultKey } from './key-vault.ts';

const PAGE = 1_000;

/** Yields the keys whose ids are greater than `after`, in the order of their ids. */
export async function* everyKey(vault: Pick<KeyVault, 'list'>, after = ''): AsyncGenerator<VaultKey> {
  for (let last = after; ;) {
    const page = await vault.list(last, PAGE);
    yield* page;
    if (page.length < PAGE) return;
    last = page.at(-1)?.id ?? last;
  }
}
