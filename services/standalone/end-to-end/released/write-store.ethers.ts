import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { AnnalsClient } from '../../../../shared/client/annals-client.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { registerTransfer } from '../register-transfer.ts';
import { transferTokens } from '../transfer-tokens.ethers.ts';
import { compactDatabases } from './compact-databases.sqlite.ts';
import { developmentClient } from '../../development-client.ethers.ts';
import { readEverything, releaseFolder, type StoredFacts } from './released-store.ethers.ts';

/**
 * Makes the data folder that a release leaves to later versions: a user who logged in with a wallet, changed the profile, registered
 * the token's Transfer and sent an operation that the app paid for. Its keys are in it, and protect nothing.
 */
const KEPT = ['bus.db', 'events.db', 'read.db', 'vault.db', 'chain', 'master.key', 'dev.json'];
const TRANSFERS = [1n, 2n, 3n];
const WITHIN_MS = 120_000;

const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync('package.json', 'utf8')));

const sendSponsored = async (client: AnnalsClient, { development: { chainId } }: RunningProgram, to: string) => {
  const sent = await client.routes.sendTransaction({
    body: { chainId, sponsor: true, transactionReq: { to, value: '0', data: '0x' } },
  });
  const params = { chainId, hash: sent.userOpHash };
  await eventually(
    async () => (await client.routes.readReceipt({ params, query: { wait: 10 } })).receipt,
    WITHIN_MS,
    'the operation must get into a block',
  );
};

/** Does what the store is to have in it, and reads it. */
const fill = async (program: RunningProgram): Promise<StoredFacts> => {
  const wallet = randomWallet();
  const client = developmentClient(program.development);
  const { userId } = await client.login.wallet(wallet);
  const body = { username: 'Ada', signature: 'first of her name' };
  await client.routes.updateProfile({ params: { id: userId }, body });
  const bearer = { authorization: `Bearer ${await client.accessToken()}` };
  const session = { userId, bearer, accessToken: '', refreshToken: '' };
  await registerTransfer(program.development, session, program.development.token?.address ?? '');
  await transferTokens(program.development, wallet.address, TRANSFERS);
  await sendSponsored(client, program, wallet.address);
  return eventually(
    async () => {
      const facts = await readEverything(client, program, userId);
      if (facts.transfers.length < TRANSFERS.length || facts.transactions[0]?.isOpen !== false) return undefined;
      return { walletKey: wallet.privateKey, userId, ...facts };
    },
    WITHIN_MS,
    'all that was done must be readable',
  );
};

const data = join(mkdtempSync(join(tmpdir(), 'annals-released-')), 'data');
const program = await RunningProgram.start(data, {});
const facts = await (async () => {
  try {
    return await fill(program);
  } finally {
    await program.stop();
  }
})();
compactDatabases(KEPT.filter((name) => name.endsWith('.db')).map((name) => join(data, name)));
const folder = releaseFolder(version);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const name of KEPT) cpSync(join(data, name), join(folder, 'data', name), { recursive: true });
writeFileSync(join(folder, 'facts.json'), `${JSON.stringify(facts, null, 2)}\n`);
rmSync(join(data, '..'), { recursive: true });
process.stdout.write(`wrote ${folder}\n`);
