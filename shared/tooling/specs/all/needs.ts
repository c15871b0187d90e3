import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BreakableServers } from '../../../testing/engines/breakable-servers.ts';
import { exportedSettings } from '../../../testing/engines/exported-settings.ts';
import { root } from '../../ready.mjs';
import { startInContainers } from '../servers-in-containers.mjs';
import { servers, type ServerSetting } from '../test-servers.mjs';
import type { Need } from './suites.ts';

const run = promisify(execFile);

/** geth is built from this version of its Go module unless `GETH` names a program. */
const GETH = 'github.com/ethereum/go-ethereum/cmd/geth@v1.17.10';
/** Programs for development that may lie beside the checkout. */
const BESIDE = join(root, '../shared');

/** The composition for a machine without official images. */
const STAND_IN = 'docker-compose.yml:deploy/compose.stand-in.yml';

/** The settings of servers and programs that `provide` has started or built for a suite. */
export interface Provided {
  settings: Readonly<Record<string, string>>;
  stop: () => Promise<unknown>;
}

/** This machine lacks what a suite needs. The message says what. */
export class NotHere extends Error {}

type Print = (line: string) => void;

const NOTHING: Provided = { settings: {}, stop: () => Promise.resolve() };

/**
 * Starts the servers that the caller has not named: Kafka and MongoDB with the programs of `TEST_SERVERS` where there are such
 * programs, the others in containers.
 */
const provideServers = async (print: Print): Promise<Provided> => {
  const missing = (Object.keys(servers) as ServerSetting[]).filter((setting) => !process.env[setting]);
  const scripts = process.env['TEST_SERVERS'] ?? join(BESIDE, 'servers');
  if (!existsSync(join(scripts, 'up'))) return startInContainers(missing, print);
  process.env['TEST_SERVERS'] = scripts;
  if (!missing.includes('KAFKA_BROKERS') && !missing.includes('MONGO_URL')) return NOTHING;
  const folder = mkdtempSync(join(tmpdir(), 'annals-servers-'));
  const started = await BreakableServers.start(folder, ['kafka', 'mongo']);
  return {
    settings: started.settings,
    stop: async () => {
      await started.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

const provideGeth = async (print: Print): Promise<Provided> => {
  const named = process.env['GETH'];
  if (named) return { ...NOTHING, settings: { GETH: named } };
  const GOBIN = join(root, 'node_modules/.cache/geth');
  const program = join(GOBIN, 'geth');
  if (!existsSync(program)) {
    print('geth is built with Go, once; this takes minutes.');
    const env = { ...process.env, GOBIN };
    await run('go', ['install', '-ldflags=-s -w', GETH], { env }).catch((cause: unknown) => {
      throw new NotHere('GETH names no geth, and Go does not build one', { cause });
    });
  }
  return { ...NOTHING, settings: { GETH: program } };
};

/** Starts all servers in containers. The container engine is the caller's, or else starts by the program beside the checkout. */
const provideContainers = async (print: Print): Promise<Provided> => {
  const up = join(BESIDE, 'containers/up');
  // testcontainers remembers where it has found no engine, so that the engine starts before the first search.
  if (!process.env['DOCKER_HOST'] && existsSync(up)) {
    print('The container engine starts; the first start builds images, which takes minutes.');
    const { stdout } = await run(up);
    Object.assign(process.env, exportedSettings(stdout));
  }
  const { findEngine } = await import('../container-servers.mjs');
  if (!(await findEngine())) throw new NotHere('no container engine answers');
  const provided = await startInContainers(Object.keys(servers) as ServerSetting[], print);
  if (provided.settings['EVENTSTORE_URL'] || process.env['COMPOSE_FILE']) return provided;
  // Without the image of EventStoreDB the composition takes the stand-in of the specs.
  return { ...provided, settings: { COMPOSE_FILE: STAND_IN, ...provided.settings } };
};

const providers: Record<Need, (print: Print) => Promise<Provided>> = {
  servers: provideServers,
  geth: provideGeth,
  containers: provideContainers,
};

/** Starts or builds what a suite needs. @throws NotHere if this machine cannot */
export const provide = async (need: Need | undefined, print: Print): Promise<Provided> =>
  need ? providers[need](print) : NOTHING;
