import { once } from 'node:events';
import { LOCAL_FUNDER_KEY } from '../../../shared/chain/development-token.ethers.ts';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { everyEngine, useDataFolder } from '../../../shared/host/engines.ts';
import { openFoundation } from '../../../shared/host/foundation.ts';
import { createLogger } from '../../../shared/host/logger.ts';
import { Shutdown } from '../../../shared/host/shutdown.ts';
import { personalDataOf } from '../../../shared/key-vault/personal-data.ts';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';
import { appAdministration } from '../../account/app-administration.ts';
import { chainAdministration } from '../../account/chain-administration.ts';
import { executeCall } from '../../account/domain/account-calls.ts';
import { STUB_PAYMASTER_DATA, STUB_SIGNATURE } from '../../account/domain/operation-hash.ts';
import { newTransactionId } from '../../account/domain/transaction.ts';
import { nonceOf } from '../../account/domain/user-operation.ts';
import { Apps } from '../../account/edge/apps.ts';
import { Deposits } from '../../account/edge/deposits.ts';
import { OperationSigner } from '../../account/edge/operation-signer.ts';
import { ServedChain } from '../../account/edge/served-chains.ts';
import { JsonRpcOperationsChain } from '../../account/edge/operations-chain.json-rpc.ts';
import { SmartAccounts } from '../../account/edge/smart-accounts.ts';
import { Sponsors } from '../../account/edge/sponsors.ts';
import { Sponsorships } from '../../account/edge/sponsorships.ts';
import { Submissions } from '../../account/edge/submissions.ts';
import { onchainSends } from '../../account/onchain-sends.module.ts';
import { OperationsChainUnderLoad } from './operations-chain.bench.ts';
import { ENOUGH_GAS, feesAbove, RECIPIENT } from './signed-operations.bench.ts';

/**
 * The loop that bundles as a program of its own, on the embedded stores. It stores sponsored operations, prints their hashes, and
 * sends them once it is told to.
 */
const [chainFolder = '', operations = '', users = ''] = process.argv.slice(2);
const ETHER = 10n ** 18n;
const FUNDS = { funderKey: LOCAL_FUNDER_KEY, depositWei: 100n * ETHER, executors: 4, executorWei: 10n * ETHER };
const POLICY = { dayWei: null, userDayWei: null, operationWei: null, allow: [], anySession: false };
const PAYMASTER_GAS = { verificationGasLimit: 40_000n, postOpGasLimit: 0n };

const { settings } = loadSettings(process.env);
const logger = createLogger(settings);
const shutdown = new Shutdown(logger);
useDataFolder({ settings, shutdown });
const foundation = {
  ...(await openFoundation({ settings, logger, shutdown }, everyEngine)),
  masterKey: loadMasterKey(settings),
  edgeKey: loadMasterKey(settings),
};
const [chain] = settings.CHAINS ?? [];
if (!chain) throw new Error('CHAINS is missing');
const { chainId, entryPoint, accountFactory } = chain;
const { paymaster } = await chainAdministration(foundation).prepare(chain, FUNDS);
const personalData = personalDataOf(foundation);
const { eventStore, readStore, clock, ids } = foundation;
const transactor = new Transactor(eventStore, clock, ids, personalData);
const { keys } = personalData;
const smartAccounts = new SmartAccounts(keys, [chain]);
const administration = appAdministration(foundation);
const { id: appId } = await administration.register({
  name: 'Bench',
  origins: ['https://bench.example'],
  redirectUris: [],
  scheme: 'v1',
});
const app = await administration.change(appId, { chainId, policy: POLICY });
const served = new ServedChain(chain, new JsonRpcOperationsChain(chain), transactor);
const sponsorships = new Sponsorships(transactor);
const sponsors = new Sponsors(
  new Apps(transactor),
  sponsorships,
  new Deposits(readStore, sponsorships, clock),
  transactor,
);
const submissions = new Submissions(transactor, new OperationSigner(keys), sponsors);
const watched = await OperationsChainUnderLoad.open(chain.rpcUrls[0] ?? '', entryPoint, chainFolder);

const userIds = Array.from({ length: Number(users) }, () => ids.uuid());
const accounts = await Promise.all(
  userIds.map(async (userId) => {
    const [account] = await smartAccounts.missing(userId, []);
    if (!account) throw new Error('a user has no account');
    return { userId, account };
  }),
);
await watched.deploy(
  accounts.map(({ account }) => account),
  accountFactory,
);
const fees = feesAbove(await watched.baseFee());
const now = await served.now();
const store = async (at: number): Promise<string> => {
  const of = accounts[at % accounts.length];
  if (!of) throw new Error('there are no accounts');
  const { userId, account } = of;
  const operation = {
    sender: account.address,
    nonce: nonceOf(BigInt(Math.floor(at / accounts.length)), 0n),
    factory: undefined,
    callData: executeCall({ to: RECIPIENT, value: 0n, data: '0x' }),
    ...ENOUGH_GAS,
    ...fees,
    paymaster: { address: paymaster, ...PAYMASTER_GAS, data: STUB_PAYMASTER_DATA },
    signature: STUB_SIGNATURE,
  };
  const transactionId = newTransactionId(ids.token(26));
  const sponsor = { app, policy: POLICY, chain: served, paymaster };
  const toSubmit = { transactionId, userId, appId, account, sponsor, now, replaces: null, operation };
  const metadata = { correlationId: ids.token(20), actor: { type: 'user' as const, id: userId } };
  const { transaction } = await submissions.submit(toSubmit, metadata);
  return transaction.submission.userOpHash;
};
const hashes = await Promise.all(Array.from({ length: Number(operations) }, (_, at) => store(at)));
process.stdout.write(`stored ${hashes.join(' ')}\n`);
process.on('disconnect', () => process.exit());
await once(process, 'message');
const { loops } = onchainSends({ foundation, transactor, keys, smartAccounts });
for (const loop of loops) loop.start();
await once(process, 'message');
await Promise.all(loops.map((loop) => loop.stop()));
watched.close();
await shutdown.run();
process.exit();
