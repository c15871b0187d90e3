import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { Failure, runCommand } from './failure.mjs';
import { nodeBinary } from './installation/node.mjs';
import { getReady, root } from './ready.mjs';

/** The tools, which are fetched when they are first used. */
const REDOCLY = ['--package', '@redocly/cli@2.77.0'];
const HEY_API = ['@hey-api/openapi-ts@0.99.0', 'typescript@6.0.3'];
const PYTHON_TOOLS = ['schemathesis==4.32.5', 'openapi-generator-cli==7.26.0'];

/** Requests after which nobody is known who could send others. */
const ENDS_THE_CALLER = ['eraseUser', 'logOut', 'endSession'];
const SERVICES = ['account', 'event-catcher'];
const OWN = join(root, 'shared/tooling/openapi');
const WORK = join(root, 'node_modules/.cache/check-openapi');
const VENV = join(WORK, 'venv');
const DATA = join(WORK, 'data');
/** Both packages together: npx would take the TypeScript of this project for one of them, and install the newest beside it. */
const HEY_API_FOLDER = join(WORK, 'hey-api-tool');

/** @param {string} service */
const documentOf = (service) => join(root, `schemas/generated/openapi.${service}.json`);

/**
 * Runs one program to its end; its output is shown.
 * @param {string} program
 * @param {string[]} args
 * @param {Record<string, string>} [environment]
 */
const run = async (program, args, environment = {}) => {
  const child = spawn(program, args, { cwd: WORK, env: { ...process.env, ...environment }, stdio: 'inherit' });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  if (code !== 0) throw new Failure(`${[program, ...args].join(' ')} ended with ${String(code)}: see above.`);
};

/**
 * @param {string[]} packages
 * @param {string[]} command
 */
const npx = (packages, command) => run('npx', ['--yes', ...packages, '--', ...command]);

/** Starts everything on embedded stores and free ports, without limits. */
const startProgram = async () => {
  rmSync(DATA, { recursive: true, force: true });
  const ports = ['ACCOUNT', 'EVENT_CATCHER', 'STREAM', 'METRICS', 'LOCAL_CHAIN'].map((name) => [`${name}_PORT`, '0']);
  const settings = { DATA_DIR: DATA, RATE_LIMITS: 'off', LOG_LEVEL: 'warn', ...Object.fromEntries(ports) };
  const child = spawn(nodeBinary(), ['dist/services/standalone/main.js'], {
    cwd: root,
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  await new Promise((resolve, reject) => {
    let said = '';
    child.stdout?.on('data', (chunk) => {
      said += String(chunk);
      if (said.includes('Annals is running')) resolve(undefined);
    });
    child.once('close', () => {
      reject(new Failure(`The program ended: ${said}`));
    });
  });
  return child;
};

/**
 * Generates both clients with one generator, compiles them, and calls every route through them.
 * @param {string} name of the caller in `openapi/`
 * @param {(service: string, folder: string) => Promise<void>} generate
 */
const tryClients = async (name, generate) => {
  const folder = join(WORK, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const service of SERVICES) await generate(service, join(folder, service));
  cpSync(join(OWN, `${name}.ts.txt`), join(folder, 'call.ts'));
  cpSync(join(OWN, 'program.ts.txt'), join(folder, 'program.ts'));
  cpSync(join(OWN, 'compile.json'), join(folder, 'tsconfig.json'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
  await run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]);
  await run(nodeBinary(), [join(folder, 'out/call.js'), join(DATA, 'dev.json')]);
};

/**
 * Runs Schemathesis' checks; two of them by way of the table of what no schema can say.
 * @param {string} service
 */
const fuzz = async (service) => {
  /** @type {Record<string, string>} */
  const caller = JSON.parse(readFileSync(join(DATA, 'dev.json.caller'), 'utf8'));
  /** @type {{ accountUrl: string, eventUrl: string }} */
  const { accountUrl, eventUrl } = JSON.parse(readFileSync(join(DATA, 'dev.json'), 'utf8'));
  const signed = ['x-api-key', 'origin', 'x-timestamp', 'x-signature'];
  await run(
    join(VENV, 'bin/st'),
    [
      ...['run', documentOf(service), '--url', service === 'account' ? accountUrl : eventUrl],
      ...(service === 'account' ? ENDS_THE_CALLER.flatMap((name) => ['--exclude-operation-id', name]) : []),
      ...['--exclude-checks', 'positive_data_acceptance,negative_data_rejection'],
      ...['--max-examples', '50', '--seed', '1', '--continue-on-failure', '--max-time', '30', '--no-color'],
      ...(service === 'account' ? signed.flatMap((name) => ['--header', `${name}: ${caller[name] ?? ''}`]) : []),
    ],
    {
      CALLER: join(DATA, 'dev.json.caller'),
      SCHEMATHESIS_HOOKS: 'refusals',
      PYTHONPATH: OWN,
      PYTHONDONTWRITEBYTECODE: '1',
    },
  );
};

await runCommand(async () => {
  await getReady({ development: true });
  // The tools and the program need the Node of this project, whichever runs this command.
  process.env['PATH'] = [dirname(nodeBinary()), process.env['PATH']].join(delimiter);
  mkdirSync(WORK, { recursive: true });
  if (!existsSync(join(VENV, 'bin/st'))) {
    await run('python3', ['-m', 'venv', VENV]);
    await run(join(VENV, 'bin/pip'), ['install', '--quiet', ...PYTHON_TOOLS]);
  }
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefix', HEY_API_FOLDER, ...HEY_API]);
  await npx(REDOCLY, [
    'redocly',
    'lint',
    '--extends',
    'recommended',
    '--max-problems',
    '100',
    ...SERVICES.map(documentOf),
  ]);
  const program = await startProgram();
  try {
    await tryClients('hey-api', (service, folder) =>
      run(join(HEY_API_FOLDER, 'node_modules/.bin/openapi-ts'), [
        ...['-i', documentOf(service), '-o', folder, '-c', '@hey-api/client-fetch'],
      ]),
    );
    await tryClients('typescript-fetch', (service, folder) =>
      run(join(VENV, 'bin/openapi-generator-cli'), [
        'generate',
        '-i',
        documentOf(service),
        '-g',
        'typescript-fetch',
        '-o',
        folder,
      ]),
    );
    for (const service of SERVICES) await fuzz(service);
  } finally {
    program.removeAllListeners('close');
    program.kill('SIGTERM');
  }
});
