import type { AssignedAccount } from '../../../schemas/events/account/user-events.ts';
import type { ChainSettings } from '../../../shared/config/chain-settings.ts';
import type { VaultKeys } from '../../../shared/key-vault/vault-keys.ts';
import { accountAddress, type AccountChain } from './domain/smart-account.ts';

/** Assigns smart accounts to users on the chains of this service, without asking a chain. */
export class SmartAccounts {
  private readonly chains: readonly AccountChain[];

  constructor(
    private readonly keys: Pick<VaultKeys, 'ownerOf'>,
    chains: readonly ChainSettings[] = [],
  ) {
    this.chains = chains.map(({ chainId, entryPoint, accountFactory: factory }) => ({ chainId, entryPoint, factory }));
  }

  /** Returns the accounts of a user on the chains on which the user has none yet. @throws Refusal user_erased */
  async missing(userId: string, known: readonly AssignedAccount[]): Promise<AssignedAccount[]> {
    const chains = this.chains.filter(({ chainId }) => !known.some((account) => account.chainId === chainId));
    if (chains.length === 0) return [];
    const owner = known[0]?.owner ?? (await this.keys.ownerOf(userId));
    return chains.map((chain) => ({ ...chain, owner, address: accountAddress(chain.factory, owner) }));
  }
}
