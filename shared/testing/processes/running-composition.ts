import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { pipeline } from 'node:stream';
import { promisify } from 'node:util';
import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import { MAILBOX_PATH } from '../../../schemas/http/account/development-mailbox.ts';
import { eventually } from '../eventually.ts';
import { freePort } from './free-port.ts';
import { createShopApp, readShopApp } from './shop-app.ts';
import { startTlsProxy, type TlsProxy } from '../http/tls-proxy.ts';
import { firstChain, type WholeProgram } from './whole-program.ts';

const run = promisify(execFile);

const READY_WITHIN_MS = 120_000;
/** A service that the engine started as often again does not become ready by waiting. */
const RESTARTS_MAX = 2;
const SERVICES = ['account', 'event-catcher', 'projector', 'relay', 'stream'];
const ASK_READY =
  "fetch('http://127.0.0.1:9464/health/ready').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))";
const PORTS = ['ACCOUNT_PORT', 'EVENT_CATCHER_PORT', 'STREAM_PORT', 'CHAIN_PORT', 'MAIL_PORT'] as const;
/** A network of its own, apart from other compositions on this machine. One test at a time can use it. */
const NETWORK = '172.30.85';
/** The address of this machine inside that network. */
const GATEWAY = `${NETWORK}.1`;
/** A suite sends requests faster than any client should. */
const GENEROUS = Object.fromEntries(
  ['login', 'register', 'query', 'request'].map((name) => [name, { points: 1_000_000, seconds: 1 }]),
);

/**
 * `docker-compose.yml` in production mode, beside anything else on this machine: it has its own containers, volumes,
 * network, ports and secrets. `COMPOSE_FILE` and the image variables select what runs.
 */
export class RunningComposition implements WholeProgram {
  private proxies: TlsProxy[] = [];
  private chain: Server | undefined;
  private current: DevelopmentFile | undefined;

  private constructor(
    private readonly command: readonly string[],
    private readonly environment: Record<string, string>,
  ) {}

  /**
   * Builds the images and starts everything without earlier data. Returns when it is ready.
   * @param setting `CHAINS`, with one chain that listens on this machine
   */
  static async start(setting: string): Promise<RunningComposition> {
    const { chainId, rpcUrl, confirmations } = firstChain(setting);
    const ports = await Promise.all(PORTS.map(() => freePort()));
    const composition = new RunningComposition(await composeCommand(), {
      ...Object.fromEntries(PORTS.map((name, index) => [name, String(ports[index])])),
      COMPOSE_PROJECT_NAME: 'annals-test',
      EDGE_SUBNET: `${NETWORK}.0/24`,
      TRUSTED_PROXIES: GATEWAY,
      MASTER_KEY: randomBytes(32).toString('base64'),
      EDGE_KEY: randomBytes(32).toString('base64'),
      MONGO_PASSWORD: randomBytes(24).toString('hex'),
      MONGO_EDGE_PASSWORD: randomBytes(24).toString('hex'),
      MONGO_VAULT_PASSWORD: randomBytes(24).toString('hex'),
      KAFKA_PASSWORD: randomBytes(24).toString('hex'),
      RATE_LIMITS: JSON.stringify(GENEROUS),
      CHAIN_ID: String(chainId),
      CHAIN_CONFIRMATIONS: String(confirmations),
    });
    try {
      // A run that was interrupted may have left containers.
      await composition.compose('down', '--volumes');
      // The network must exist before the chain can be reached from it. An engine that has just removed a network of this name
      // does not find the new network for a moment.
      const upChain = () => composition.compose('up', '-d', '--build', 'chain').then(() => true);
      await eventually(upChain, READY_WITHIN_MS, 'the chain of the composition must start');
      composition.environment['CHAIN_RPC_URL'] = await composition.leadTo(rpcUrl);
      await composition.restart();
      composition.current = { ...(await composition.introduce()), chainId, rpcUrl };
      return composition;
    } catch (error) {
      process.stderr.write(composition.logs);
      await composition.stop();
      throw error;
    }
  }

  /** The addresses for clients: proxies that end TLS. */
  get development(): DevelopmentFile {
    if (!this.current) throw new Error('the composition was not started');
    return this.current;
  }

  get logs(): string {
    const [program = '', ...before] = this.command;
    const args = [...before, 'logs', '--no-color', '--tail', '40', ...SERVICES];
    return execFileSync(program, args, { env: this.processEnvironment, encoding: 'utf8' });
  }

  /** Kills all our services. */
  async kill(): Promise<void> {
    await this.compose('kill', '-s', 'SIGKILL', ...SERVICES);
  }

  async restart(): Promise<this> {
    await this.compose('up', '-d');
    for (const service of SERVICES) {
      const state = await eventually(() => this.stateOf(service), READY_WITHIN_MS, `${service} must be ready`);
      if (state === 'restarting') throw new Error(`${service} ends again and again`);
    }
    return this;
  }

  /** Stops everything and deletes its data. */
  async stop(): Promise<void> {
    await Promise.all(this.proxies.map(({ close }) => close()));
    this.chain?.close();
    await this.compose('down', '--volumes');
  }

  private async introduce(): Promise<Omit<DevelopmentFile, 'chainId' | 'rpcUrl'>> {
    const app = readShopApp(await this.compose('exec', '-T', 'account', 'annals', ...createShopApp));
    const targets = PORTS.slice(0, 3).map((name) => `http://127.0.0.1:${String(this.environment[name])}`);
    this.proxies = await Promise.all(targets.map(startTlsProxy));
    const [accountUrl = '', eventUrl = '', streamUrl = ''] = this.proxies.map(({ url }) => url);
    // Does not exist in production.
    const mailboxUrl = accountUrl + MAILBOX_PATH;
    return { accountUrl, eventUrl, streamUrl, mailboxUrl, app };
  }

  /** @returns the address at which the containers reach a server that listens on loopback only */
  private async leadTo(url: string): Promise<string> {
    const { hostname: host, port } = new URL(url);
    this.chain = createServer((socket) => {
      pipeline(socket, connect({ host, port: Number(port) }), socket, () => undefined);
    }).listen(0, GATEWAY);
    await once(this.chain, 'listening');
    return `http://${GATEWAY}:${String((this.chain.address() as AddressInfo).port)}`;
  }

  /** @throws if the service is not ready, and may become so */
  private async stateOf(service: string): Promise<'ready' | 'restarting'> {
    const container = (await this.compose('ps', '--all', '--quiet', service)).trim();
    const { stdout: restarts } = await run('docker', ['inspect', '--format', '{{.RestartCount}}', container]);
    if (Number(restarts) >= RESTARTS_MAX) return 'restarting';
    await this.compose('exec', '-T', service, 'node', '-e', ASK_READY);
    return 'ready';
  }

  private async compose(...args: string[]): Promise<string> {
    const [program = '', ...before] = this.command;
    return (await run(program, [...before, ...args], { env: this.processEnvironment, maxBuffer: 1 << 26 })).stdout;
  }

  private get processEnvironment(): NodeJS.ProcessEnv {
    return { ...process.env, ...this.environment };
  }
}

/** Returns the compose plugin if it is installed, else the separate program. */
const composeCommand = async (): Promise<string[]> => {
  try {
    await run('docker', ['compose', 'version']);
    return ['docker', 'compose'];
  } catch {
    return ['docker-compose'];
  }
};
