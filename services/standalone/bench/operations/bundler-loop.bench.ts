import { once } from 'node:events';
import { LOCAL_FUNDER_KEY } from '../../../../shared/local-chain/development-token.ethers.ts';
import { loadSettings } from '../../../../shared/config/load-settings.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { everyEngine, useDataFolder } from '../../../../shared/host/engines/engines.ts';
import { openFoundation } from '../../../../shared/host/foundation.ts';
import { createLogger } from '../../../../shared/host/logger.ts';
import { Shutdown } from '../../../../shared/host/shutdown.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { loadMasterKey } from '../../../../shared/keys/master-key.ts';
import { appAdministration } from '../../../account/app-administration.ts';
import { chainAdministration } from '../../../onchain/chain-administration.ts';
import { executeCall } from '../../../onchain/operations/domain/account-calls.ts';
import { STUB_PAYMASTER_DATA, STUB_SIGNATURE } from '../../../onchain/operations/domain/operation-hash.ts';
import { newTransactionId } from '../../../onchain/transactions/domain/transaction.ts';
import { nonceOf } from '../../../onchain/operations/domain/user-operation.ts';
import { Apps } from '../../../../shared/auth/apps.ts';
import { bundleLoopFor } from '../../../onchain/bundler/begin-bundling.ts';
import { openChains } from '../../../../shared/chain/client/opened-chains.ts';
import { onchainParts, servedChains } from '../../../onchain/onchain-parts.ts';
import { OperationsChainUnderLoad } from './operations-chain.bench.ts';
import { ENOUGH_GAS, feesAbove, RECIPIENT } from './signed-operations.bench.ts';

/**
 * The bundler loop as a program of its own, on the embedded stores. Stores sponsored operations, prints their hashes,
 * and sends them once it is told to.
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
const { eventStore, clock, ids } = foundation;
const transactor = new Transactor(eventStore, clock, ids, personalData);
const { keys } = personalData;
const options = { foundation, transactor, keys, apps: new Apps(transactor), chains: [chain] };
const parts = { ...options, ...onchainParts(options) };
const { smartAccounts, submissions } = parts;
const opened = openChains([chain]);
const chains = servedChains(opened, transactor);
const served = chains.get(chainId);
const administration = appAdministration(foundation);
const { id: appId } = await administration.register({
  name: 'Bench',
  origins: ['https://bench.example'],
  redirectUris: [],
  scheme: 'v1',
});
const app = await administration.change(appId, { chainId, policy: POLICY });
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
const loop = bundleLoopFor(served, parts);
loop.start();
await once(process, 'message');
await loop.stop();
for (const { client } of opened) client.close();
watched.close();
await shutdown.run();
process.exit();
