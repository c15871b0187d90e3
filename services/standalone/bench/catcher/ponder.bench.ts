import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { freePort } from '../../../../shared/testing/processes/free-port.ts';
import { installedPackages } from '../installed-packages.ts';
import type { OtherIndexer } from './other-indexer.ts';
import type { Postgres } from './postgres.bench.ts';
import { StartedProgram } from '../started-program.ts';
import { EMITTING_CONTRACT } from './transfers.ts';

const VERSION = '0.16.10';
/** viem in a version whose own dependencies are all on the registry. */
const PACKAGES = [`ponder@${VERSION}`, 'viem@2.57.1', 'hono@4'];
const DATABASE = 'ponder';

/**
 * A project as in Ponder's documentation. Without `database`, Ponder uses DATABASE_URL, else PGlite within the process.
 */
const project = {
  'package.json': '{"private":true,"type":"module"}',
  'ponder.config.ts': `import { createConfig } from 'ponder';
const abi = ${JSON.stringify([{ ...eventExamples.ContractRegistered.fragment, type: 'event' }])} as const;
export default createConfig({
  chains: { bench: { id: 2484, rpc: process.env.RPC_URL } },
  contracts: { Token: { abi, chain: 'bench', address: '${EMITTING_CONTRACT}', startBlock: 0 } },
});
`,
  'ponder.schema.ts': `import { onchainTable } from 'ponder';
export const transfer = onchainTable('transfer', (t) => ({
  id: t.text().primaryKey(),
  from: t.hex().notNull(),
  to: t.hex().notNull(),
  value: t.bigint().notNull(),
  block: t.bigint().notNull(),
  time: t.bigint().notNull(),
  transaction: t.hex().notNull(),
  log: t.integer().notNull(),
}));
`,
  'src/index.ts': `import { ponder } from 'ponder:registry';
import { transfer } from 'ponder:schema';
ponder.on('Token:Transfer', async ({ event: { id, args, block, transaction, log }, context }) => {
  const from = { block: block.number, time: block.timestamp, transaction: transaction.hash, log: log.logIndex };
  await context.db.insert(transfer).values({ id, ...args, ...from });
});
`,
  'src/api/index.ts': `import { Hono } from 'hono';
import { count } from 'ponder';
import { db } from 'ponder:api';
import { transfer } from 'ponder:schema';
const app = new Hono();
app.get('/transfers', async (c) => c.json(await db.select({ count: count() }).from(transfer)));
export default app;
`,
};

export const startPonder = async (
  rpcUrl: string,
  { folder, postgres }: { folder: string; postgres: Postgres | undefined },
): Promise<OtherIndexer> => {
  const installed = installedPackages(`ponder-${VERSION}`, PACKAGES);
  for (const [file, text] of Object.entries(project)) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  symlinkSync(join(installed, 'node_modules'), join(folder, 'node_modules'));
  postgres?.query('postgres', `create database ${DATABASE}`);
  const port = await freePort();
  const program = join(installed, 'node_modules/ponder/dist/esm/bin/ponder.js');
  const command = [process.execPath, program, 'start', '--schema', 'bench', '--port', String(port)];
  const url = postgres && `postgres://postgres@127.0.0.1:${String(postgres.port)}/${DATABASE}`;
  const settings = { RPC_URL: rpcUrl, PONDER_TELEMETRY_DISABLED: 'true', ...(url && { DATABASE_URL: url }) };
  const { PATH, HOME } = process.env;
  const running = StartedProgram.start('Ponder', command, { cwd: folder, env: { PATH, HOME, ...settings } });
  return {
    name: `Ponder ${VERSION}`,
    pid: running.pid,
    caught: async () => {
      running.requireRunning();
      const answer = await fetch(`http://127.0.0.1:${String(port)}/transfers`).catch(() => undefined);
      if (!answer?.ok) return 0;
      return ((await answer.json()) as { count: number }[])[0]?.count ?? 0;
    },
    stop: () => running.stop(),
  };
};
