import type { Apps } from '../../shared/auth/apps.ts';
import type { OpenedChain } from '../../shared/chain/client/opened-chains.ts';
import type { ChainSettings } from '../../shared/config/chain-settings.ts';
import type { Transactor } from '../../shared/event-store/transactions/transact.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import type { VaultKeys } from '../../shared/key-vault/vault-keys.ts';
import { JsonRpcOperationsChain } from './chain/operations-chain.json-rpc.ts';
import { OperationSigner } from './sending/operation-signer.ts';
import { Submissions } from './sending/submissions.ts';
import { ServedChain, ServedChains } from './served-chains/served-chains.ts';
import { SmartAccounts } from './smart-accounts/smart-accounts.ts';
import { Deposits } from './sponsorship/deposits.ts';
import { Sponsors } from './sponsorship/sponsors.ts';
import { Sponsorships } from './sponsorship/sponsorships.ts';
import { AccountNonces } from './transactions/account-nonces.ts';
import { OperationDrafts } from './transactions/operation-drafts.ts';

interface PartsOptions {
  foundation: Pick<Foundation, 'readStore' | 'clock'>;
  transactor: Transactor;
  keys: VaultKeys;
  apps: Apps;
  chains: readonly ChainSettings[] | undefined;
}

/** What decides on operations, signs and stores them: the same for requests and for the bundler. */
export const onchainParts = ({ foundation: { readStore, clock }, transactor, keys, apps, chains }: PartsOptions) => {
  const smartAccounts = new SmartAccounts(keys, chains);
  const sponsorships = new Sponsorships(transactor);
  const deposits = new Deposits(readStore, sponsorships, clock);
  const sponsors = new Sponsors(apps, sponsorships, deposits, transactor);
  const nonces = new AccountNonces(transactor);
  const drafts = new OperationDrafts(transactor, smartAccounts, nonces);
  const signer = new OperationSigner(keys);
  const submissions = new Submissions(transactor, signer, sponsors);
  return { smartAccounts, sponsorships, deposits, sponsors, nonces, drafts, signer, submissions };
};

export const servedChains = (opened: readonly OpenedChain[], transactor: Transactor): ServedChains =>
  new ServedChains(
    new Map(
      opened.map(({ settings, client }) => [
        settings.chainId,
        new ServedChain(settings, new JsonRpcOperationsChain(client, settings), transactor),
      ]),
    ),
  );
