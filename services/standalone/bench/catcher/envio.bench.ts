import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { freePort } from '../../../../shared/testing/processes/free-port.ts';
import { installedPackages } from '../installed-packages.ts';
import type { OtherIndexer } from './other-indexer.ts';
import type { Postgres } from './postgres.bench.ts';
import { StartedProgram } from '../started-program.ts';
import { EMITTING_CONTRACT } from './transfers.ts';

const VERSION = '2.32.12';
/** Envio's dependency yargs 17 does not load in Node 26. Without pnpm, Envio would install it globally. */
const NODE = `node-${process.platform}-${process.arch}`;
const PACKAGES = [`envio@${VERSION}`, 'pnpm@10', `${NODE}@22`];
const DATABASE = 'envio';
/** Blocks per request, which stay below 10,000 logs: after a refusal Envio would wait for seconds. */
const BLOCKS = 150;

const project = (rpcUrl: string) => ({
  'package.json': JSON.stringify({ name: 'bench', private: true, dependencies: { envio: VERSION } }),
  'config.yaml': `name: bench
networks:
  - id: 2484
    start_block: 0
    rpc:
      url: ${rpcUrl}
      for: sync
      initial_block_interval: ${String(BLOCKS)}
      interval_ceiling: ${String(BLOCKS)}
    contracts:
      - name: Token
        address: '${EMITTING_CONTRACT}'
        handler: src/handlers.js
        events:
          - event: Transfer(address indexed from, address indexed to, uint256 value)
            field_selection:
              transaction_fields: [hash]
`,
  'schema.graphql': `type Transfer {
  id: ID!
  from: String!
  to: String!
  value: BigInt!
  block: Int!
  time: Int!
  transaction: String!
  log: Int!
}
`,
  'src/handlers.js': `const { Token } = require('../generated');
Token.Transfer.handler(async ({ event: { params, block, transaction, logIndex }, context }) => {
  const from = { block: block.number, time: block.timestamp, transaction: transaction.hash, log: logIndex };
  context.Transfer.set({ id: block.number + '-' + logIndex, from: params.from, to: params.to, value: params.value, ...from });
});
`,
});

/** Starts Envio HyperIndex over JSON-RPC, as `envio start` does, but without the programs in between. */
export const startEnvio = async (rpcUrl: string, postgres: Postgres): Promise<OtherIndexer> => {
  const installed = installedPackages(`envio-${VERSION}`, PACKAGES);
  // Beside node_modules, where Envio looks for packages that it does not name.
  const folder = join(installed, 'indexer');
  rmSync(folder, { recursive: true, force: true });
  for (const [file, text] of Object.entries(project(rpcUrl))) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  postgres.query('postgres', `create database ${DATABASE}`);
  const programs = [join(installed, 'node_modules', NODE, 'bin'), join(installed, 'node_modules/.bin')];
  const env = {
    ...process.env,
    PATH: [...programs, process.env['PATH'] ?? ''].join(delimiter),
    // Keeps everything that Envio installs in this folder.
    npm_config_prefix: join(installed, 'prefix'),
    npm_config_store_dir: join(installed, 'store'),
    TUI_OFF: 'true',
    ENVIO_HASURA: 'false',
    ENVIO_INDEXER_PORT: String(await freePort()),
    ENVIO_PG_HOST: '127.0.0.1',
    ENVIO_PG_PORT: String(postgres.port),
    ENVIO_PG_USER: 'postgres',
    ENVIO_PG_PASSWORD: 'unused',
    ENVIO_PG_DATABASE: DATABASE,
  };
  const generated = join(folder, 'generated');
  const program = join(installed, 'node_modules/envio/bin.js');
  execFileSync('node', [program, 'codegen'], { cwd: folder, env, stdio: 'ignore' });
  const migrations = 'require("./src/db/Migrations.res.js").runUpMigrations(true, true)';
  execFileSync('node', ['-e', migrations], { cwd: generated, env, stdio: 'ignore' });
  const running = StartedProgram.start('Envio', ['node', 'src/Index.res.js'], { cwd: generated, env });
  return {
    name: `Envio HyperIndex ${VERSION}`,
    pid: running.pid,
    caught: () => {
      running.requireRunning();
      return Promise.resolve(Number(postgres.query(DATABASE, 'select count(*) from "Transfer"')));
    },
    stop: () => running.stop(),
  };
};
