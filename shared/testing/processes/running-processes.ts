import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import { MAILBOX_PATH } from '../../../schemas/http/account/development-mailbox.ts';
import { serviceNames, type ServiceName } from '../../config/services.ts';
import { outerEnvironment, RunningProcess } from './running-process.ts';
import { createShopApp, readShopApp } from './shop-app.ts';
import { firstChain, portsOf, testSettings, type WholeProgram } from './whole-program.ts';

const COMMAND_LINE = 'services/standalone/annals.js';

/** The line of a service that is ready. `url` is absent for one that does not listen. */
const READY = /^annals [\w-]+ is ready in [\d.]+ s: (?:(?<url>http\S+), )?metrics (?<metricsUrl>http\S+)$/m;

/** One service as a process of its own. */
export class ServiceProcess {
  readonly process: RunningProcess;
  private where: { url?: string; metricsUrl?: string } = {};

  /** Begins to start it. */
  constructor(name: ServiceName, settings: Record<string, string>) {
    this.process = RunningProcess.spawn(name, [COMMAND_LINE, name], { ...testSettings, ...settings });
  }

  async ready(): Promise<this> {
    this.where = (await this.process.ready(READY)).groups ?? {};
    return this;
  }

  get url(): string {
    return this.where.url ?? '';
  }

  get metricsUrl(): string {
    return this.where.metricsUrl ?? '';
  }

  /** Returns by checkpoint whether this process advances it, from its metrics. */
  async followedHere(): Promise<Map<string, boolean>> {
    const metrics = await (await fetch(`${this.metricsUrl}/metrics`)).text();
    const lines = metrics.matchAll(/^annals_checkpoint_followed_here\{checkpoint="([^"]+)"\} ([01])$/gm);
    return new Map(Array.from(lines, ([, checkpoint = '', value]) => [checkpoint, value === '1']));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
  }
}

/** The services as processes, from what `npm test` built. */
export class RunningProcesses implements WholeProgram {
  private readonly services = new Map<ServiceName, ServiceProcess>();
  /** Further processes of the same services. */
  private readonly others: ServiceProcess[] = [];
  private app: DevelopmentFile['app'] | undefined;

  private constructor(
    /** The settings of all of them. */
    private settings: Record<string, string>,
  ) {}

  /**
   * Starts all services on free ports, and returns when they are ready.
   * @param settings `CHAINS`, and those of the engines
   */
  static async start(dataFolder: string, settings: Record<string, string>): Promise<RunningProcesses> {
    const processes = new RunningProcesses({ DATA_DIR: dataFolder, ...settings });
    try {
      // The other services need the address of the account service, so it starts first; the stream that of the catcher.
      await processes.restart('account', 'relay', 'projector');
      await processes.createApp();
      processes.settings['ACCOUNT_URL'] = processes.service('account').url;
      await processes.restart('event-catcher');
      processes.settings['EVENT_URL'] = processes.service('event-catcher').url;
      await processes.restart();
      processes.settings = { ...processes.settings, ...portsOf(processes.development) };
      return processes;
    } catch (error) {
      await processes.kill();
      throw error;
    }
  }

  get development(): DevelopmentFile {
    if (!this.app) throw new Error('there is no app yet');
    const { chainId, rpcUrl } = firstChain(this.settings['CHAINS'] ?? '');
    const [accountUrl, eventUrl, streamUrl] = [
      this.service('account').url,
      this.service('event-catcher').url,
      this.service('stream').url,
    ];
    const mailboxUrl = accountUrl + MAILBOX_PATH;
    return { accountUrl, eventUrl, streamUrl, chainId, rpcUrl, mailboxUrl, app: this.app };
  }

  service(name: ServiceName): ServiceProcess {
    const service = this.services.get(name);
    if (!service) throw new Error(`${name} was not started`);
    return service;
  }

  /** Kills these services, or all, as a crash would. */
  async kill(...names: ServiceName[]): Promise<void> {
    await Promise.all(this.running(names).map(({ process }) => process.kill()));
  }

  /**
   * Starts those of these services, or of all, that do not run, at their old addresses. Returns when they are ready.
   */
  async restart(...names: ServiceName[]): Promise<this> {
    const wanted = names.length > 0 ? names : serviceNames;
    const starting = wanted
      .filter((name) => this.services.get(name)?.process.hasEnded ?? true)
      .map((name) => {
        const service = new ServiceProcess(name, this.settings);
        this.services.set(name, service);
        return service.ready();
      });
    await Promise.all(starting);
    return this;
  }

  /** Starts another process of a service, on ports of its own. */
  another(name: ServiceName, settings: Record<string, string> = {}): Promise<ServiceProcess> {
    const other = new ServiceProcess(name, { ...this.settings, ...testSettings, ...settings });
    this.others.push(other);
    return other.ready();
  }

  /** Stops these services, or all, as Ctrl-C does. */
  async stop(...names: ServiceName[]): Promise<void> {
    await Promise.all(this.running(names).map(({ process }) => process.stop()));
  }

  get logs(): string {
    return this.running([])
      .map(({ process }) => process.lastLines)
      .join('\n');
  }

  private running(names: readonly ServiceName[]): ServiceProcess[] {
    return names.length > 0 ? names.map((name) => this.service(name)) : [...this.services.values(), ...this.others];
  }

  /** Creates an app as an operator does, while the services run. */
  private async createApp(): Promise<void> {
    const env = { ...outerEnvironment, ...testSettings, ...this.settings };
    const program = [`dist/${COMMAND_LINE}`, ...createShopApp];
    const { stdout } = await promisify(execFile)(process.execPath, program, { env });
    this.app = readShopApp(stdout);
  }
}
