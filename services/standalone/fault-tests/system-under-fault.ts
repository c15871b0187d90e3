import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pino } from 'pino';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { closeEngines, everyEngine, openEngines, type Engines } from '../../../shared/engines/engines.ts';
import { BreakableServers } from '../../../shared/testing/breakable-servers.ts';
import { EventStoreServer } from '../../../shared/testing/event-store-server/event-store-server.esdb.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { signIn } from '../../../shared/testing/http-caller.ethers.ts';
import { RunningProcesses } from '../../../shared/testing/running-processes.ts';
import { projections } from '../../projector/projections.ts';
import { RELAY_CHECKPOINT } from '../../relay/publish-events/checkpoint.ts';
import { ChainUnderTest } from '../end-to-end/chain-under-test.ethers.ts';
import { registerTransfer } from '../end-to-end/register-transfer.ts';
import { disagreements, everyDocument, everyEvent } from './agreement.ts';
import { Workload } from './workload.ethers.ts';

const SETTLES_WITHIN_MS = 90_000;

/** Five processes on servers of their own that can be broken, a chain that they follow, and a view into their engines. */
export class SystemUnderFault {
  private readonly workloads: Workload[] = [];
  private working: Workload | undefined;

  private constructor(
    readonly servers: BreakableServers,
    readonly eventStoreServer: EventStoreServer,
    readonly chain: ChainUnderTest,
    readonly processes: RunningProcesses,
    private readonly engines: Engines,
  ) {}

  static async start(folder: string): Promise<SystemUnderFault> {
    const [servers, eventStoreServer, chain] = await Promise.all([
      BreakableServers.start(join(folder, 'servers'), ['kafka', 'mongo']),
      EventStoreServer.start(),
      ChainUnderTest.start(join(folder, 'chain')),
    ]);
    const settings = {
      ...servers.settings,
      EVENTSTORE_URL: eventStoreServer.url,
      CHAINS: chain.setting,
      TOPIC_PREFIX: `faults-${randomUUID().slice(0, 8)}.`,
      DATA_DIR: join(folder, 'data'),
    };
    const processes = await RunningProcesses.start(settings.DATA_DIR, settings);
    const engines = await openEngines(loadSettings(settings).settings, pino({ level: 'silent' }), everyEngine);
    const system = new SystemUnderFault(servers, eventStoreServer, chain, processes, engines);
    await system.watchTheToken();
    return system;
  }

  /** Begins to work; `settle` ends it. */
  work(): Workload {
    const workload = new Workload(this.processes.development, this.chain);
    this.workloads.push(workload);
    this.working = workload;
    return workload;
  }

  /** @returns when nothing is under way any more: what differs then, and what was acknowledged and is not stored once */
  async settle(): Promise<string[]> {
    await this.rest();
    await this.eventually(() => this.hasCaughtTheChain(), SETTLES_WITHIN_MS, 'what was caught must equal the chain');
    await this.eventually(
      async () => {
        const behind = await this.behind();
        if (behind.length > 0) throw new Error(behind.join(', '));
        return true;
      },
      SETTLES_WITHIN_MS,
      'relay and projections must reach the head',
    );
    const events = await everyEvent(this.engines.eventStore);
    const lost = this.workloads.flatMap((workload) => workload.lost(events));
    return [
      ...lost.map(({ userId }) => `the profile of ${userId} is lost, or there twice`),
      ...(await disagreements(events, this.engines)),
    ];
  }

  /** A failure shows what the processes said. */
  async eventually(ask: () => Promise<boolean>, withinMs: number, otherwise: string): Promise<void> {
    try {
      await eventually(ask, withinMs, otherwise);
    } catch (cause) {
      const reason = cause instanceof Error ? String(cause.cause) : '';
      throw new Error(`${otherwise}: ${reason}\n${this.processes.logs}`, { cause });
    }
  }

  /** How far the relay has published, or the projector has stored profiles. */
  position(of: 'relay' | 'projector'): Promise<number> {
    return this.engines.readStore.position(of === 'relay' ? RELAY_CHECKPOINT : readModels.users.projection);
  }

  async stop(): Promise<void> {
    await this.rest();
    await this.processes.kill();
    await closeEngines(this.engines);
    await Promise.all([this.servers.stop(), this.eventStoreServer.close(), this.chain.stop()]);
  }

  private async rest(): Promise<void> {
    const { working } = this;
    this.working = undefined;
    await working?.stop();
  }

  private async watchTheToken(): Promise<void> {
    const { development } = this.processes;
    const { status } = await registerTransfer(development, await signIn(development), this.chain.token.address);
    if (status !== 201) throw new Error(`the registration answered ${String(status)}`);
  }

  private async hasCaughtTheChain(): Promise<boolean> {
    const caught = await everyDocument(this.engines.readStore, readModels.chainEvents.collection);
    const standing = Array.from(caught.values(), ({ document }) => document).filter(
      ({ reverted }) => reverted === false,
    );
    return JSON.stringify(standing.map(({ Id }) => Id)) === JSON.stringify(await this.chain.transferIds());
  }

  /** Whatever of relay and projections has not reached the head. */
  private async behind(): Promise<string[]> {
    const { eventStore, readStore } = this.engines;
    const head = await eventStore.head();
    const names = [RELAY_CHECKPOINT, ...projections.map(({ name }) => name)];
    const positions = await Promise.all(names.map(async (name) => [name, await readStore.position(name)] as const));
    return positions
      .filter(([, position]) => position < head)
      .map(([name, position]) => `${name} is at ${String(position)} of ${String(head)}`);
  }
}
