import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import type { LatestStates } from '../../../shared/chain/state/latest-state.ts';
import { unavailable } from '../../../shared/errors/refusal.ts';
import type { AccountNonces } from './account-nonces.ts';

interface Account {
  chainId: number;
  address: string;
}

/** Tells whether a smart account is in use: by an unfinished send, or by a balance. */
export class AccountUse {
  constructor(
    private readonly nonces: AccountNonces,
    private readonly chains: LatestStates,
  ) {}

  /** Returns `undefined` for an account that is not in use. @throws Refusal dependency_unavailable */
  async useOf(account: Account): Promise<string | undefined> {
    return (await this.openSend(account)) ?? (await this.holding(account));
  }

  private async openSend({ chainId, address }: Account): Promise<string | undefined> {
    const { transactions } = await this.nonces.inUse({ chainId, sender: address });
    const open = transactions.find(({ status }) => status === 'submitted');
    return open && `has a send under way (${open.submission.transactionId}): wait until it is included, or cancel it`;
  }

  private async holding({ chainId, address }: Account): Promise<string | undefined> {
    try {
      const account = await this.chains.get(chainId)?.account(address);
      const isInUse = account !== undefined && (account.hasCode || account.wei > 0n);
      return isInUse ? 'is deployed or holds balance: move out what it holds' : undefined;
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      throw unavailable(`chain ${String(chainId)} cannot be asked what a smart account holds`, error);
    }
  }
}
