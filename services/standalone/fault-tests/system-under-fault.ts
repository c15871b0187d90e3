import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { pino } from 'pino';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { closeEngines, everyEngine, openEngines, type Engines } from '../../../shared/host/engines.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { readModels } from '../../../shared/read-models/catalogue.ts';
import { chainEventsModel } from '../../../shared/read-models/chain-events.ts';
import { BreakableServers, type ServerName } from '../../../shared/testing/breakable-servers.ts';
import { EventStoreServer } from '../../../shared/testing/event-store-server/event-store-server.esdb.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { signIn } from '../../../shared/testing/http-caller.ethers.ts';
import { RunningProcesses, type ServiceName, type ServiceProcess } from '../../../shared/testing/running-processes.ts';
import { RELAY_CHECKPOINT } from '../../relay/publish-events/checkpoint.ts';
import { ChainUnderTest } from '../end-to-end/chain-under-test.ethers.ts';
import { registerTransfer } from '../end-to-end/register-transfer.ts';
import { disagreements, everyDocument, everyEvent } from './agreement.ts';
import { chainChanges, recordsAfter } from './chain-changes.ts';
import { FaultLog } from './fault-log.ts';
import { LastingSubscription } from './lasting-subscription.ethers.ts';
import { Workload } from './workload.ethers.ts';

/** As long as a slow machine may need for all that an outage has left behind. */
const CATCHES_UP_WITHIN_MS = 300_000;

/** For whatever else has to come. Several waits fit into a test, so that it is the wait that fails, and says for what. */
export const COMES_WITHIN_MS = 120_000;

/** A service of which one process works at a time, and the others stand by. */
export type Worker = 'relay' | 'projector' | 'event-catcher';

const checkpoints = {
  relay: [RELAY_CHECKPOINT],
  projector: readModels.map(({ name }) => name),
} as const satisfies Partial<Record<Worker, readonly string[]>>;

/** Five processes on servers of their own that can be broken, a chain that they follow, and a view into their engines. */
export class SystemUnderFault {
  private readonly workloads: Workload[] = [];
  private working: Workload | undefined;
  private subscription: LastingSubscription | undefined;
  private readonly faults = new FaultLog();

  private constructor(
    private readonly servers: BreakableServers,
    readonly eventStoreServer: EventStoreServer,
    readonly chain: ChainUnderTest,
    readonly processes: RunningProcesses,
    readonly engines: Engines,
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
    return new SystemUnderFault(servers, eventStoreServer, chain, processes, engines);
  }

  /** Has the token's transfers caught, from the first block on. */
  async watchTheToken(): Promise<void> {
    const { development } = this.processes;
    const { status } = await registerTransfer(development, await signIn(development), this.chain.token.address);
    if (status !== 201) throw new Error(`the registration answered ${String(status)}`);
  }

  /** Has them told to a subscriber. Before anything was taken back: what had been by then would not be told. */
  async subscribe(): Promise<void> {
    this.subscription = await LastingSubscription.open(this.processes.development, this.chain.token.address);
  }

  /** Begins to work; `rest` ends it. */
  work(): Workload {
    const workload = new Workload(this.processes.development, this.chain);
    this.workloads.push(workload);
    this.working = workload;
    return workload;
  }

  async rest(): Promise<void> {
    const { working } = this;
    this.working = undefined;
    await working?.stop();
  }

  /** As crashes, of these processes or of all. */
  async kill(...names: ServiceName[]): Promise<void> {
    await this.processes.kill(...names);
    this.faults.add(`${named(names)} killed`);
  }

  async restart(...names: ServiceName[]): Promise<void> {
    await this.processes.restart(...names);
    this.faults.add(`${named(names)} started again`);
  }

  /** As crashes, of servers. */
  async takeAway(...names: ServerName[]): Promise<void> {
    this.faults.add(`${names.join()} away`);
    await Promise.all(names.map((name) => this.servers.kill(name)));
  }

  async bringBack(...names: ServerName[]): Promise<void> {
    for (const name of names) await this.servers.revive(name);
    this.faults.add(`${names.join()} back`);
  }

  /**
   * Ends the workload, waits until everything is caught up, and compares it.
   * @returns what differs, and what was acknowledged and is not stored once; then each fault since the last comparison
   */
  async differences(): Promise<string[]> {
    await this.rest();
    // An array of this realm: what fetch gives is of another, and equals none.
    const transferIds = [...(await this.chain.transferIds())];
    await this.eventually(
      () => this.hasCaught(transferIds),
      CATCHES_UP_WITHIN_MS,
      'what was caught must equal the chain, in its order',
    );
    const differences = await this.differencesAtHead(transferIds);
    if (differences.length > 0) return [...differences, this.faults.text];
    this.faults.clear();
    return [];
  }

  /** A failure shows what was done to the processes, and what they said. */
  async eventually(ask: () => Promise<boolean> | boolean, withinMs: number, otherwise: string): Promise<void> {
    try {
      await eventually(ask, withinMs, otherwise);
    } catch (cause) {
      const reason = cause instanceof Error ? String(cause.cause) : '';
      throw new Error(`${otherwise}: ${reason}\n${this.faults.text}\n${this.processes.logs}`, { cause });
    }
  }

  /** Whether all that a worker does is done in this process, or nothing of it. */
  async works(name: Worker, service: ServiceProcess, here: boolean): Promise<boolean> {
    if (name === 'event-catcher') {
      const lease = await this.engines.readStore.lease(`chain ${String(this.processes.development.chainId)}`);
      return (Number(lease?.holder?.split('/')[1]) === service.process.child.pid) === here;
    }
    const followed = await service.followedHere();
    return checkpoints[name].every((checkpoint) => followed.get(checkpoint) === here);
  }

  /** Does something while processes are stopped as by a debugger: they do not end, and nothing of them goes on. */
  async whileStopped(stopped: readonly ServiceProcess[], act: () => Promise<void>): Promise<void> {
    const names = stopped.map(({ process }) => process.name).join();
    for (const { process } of stopped) process.child.kill('SIGSTOP');
    this.faults.add(`${names} stopped`);
    try {
      await act();
    } finally {
      for (const { process } of stopped) process.child.kill('SIGCONT');
      this.faults.add(`${names} gone on`);
    }
  }

  /** How many events of the chain are stored. */
  async stored(): Promise<number> {
    const stream = `chain-${String(this.processes.development.chainId)}-${this.chain.token.address.toLowerCase()}`;
    const [newest] = await this.engines.eventStore.read(stream, { direction: 'backwards', limit: 1 });
    return newest ? newest.revision + 1 : 0;
  }

  /** The highest block that the follower of the chain has stored as caught. */
  async checkpointedHead(): Promise<unknown> {
    const stream = `chain-${String(this.processes.development.chainId)}`;
    const [newest] = await this.engines.eventStore.read(stream, { direction: 'backwards', limit: 1 });
    return newest?.data['head'];
  }

  async stop(): Promise<void> {
    await this.rest();
    this.subscription?.close();
    await this.processes.kill();
    await closeEngines(this.engines);
    await Promise.all([this.servers.stop(), this.eventStoreServer.close(), this.chain.stop()]);
  }

  /** Looks again while anything was stored meanwhile: the subscriber asks for a new token when it likes. */
  private async differencesAtHead(transferIds: readonly string[]): Promise<string[]> {
    for (;;) {
      await this.eventually(
        async () => {
          const behind = await this.behind();
          if (behind.length > 0) throw new Error(behind.join(', '));
          return true;
        },
        CATCHES_UP_WITHIN_MS,
        'relay and projections must reach the head',
      );
      const { eventStore } = this.engines;
      const head = await eventStore.head();
      const events = await everyEvent(eventStore);
      const lost = this.workloads.flatMap((workload) => workload.lost(events));
      const differences = [
        ...lost.map(({ userId }) => `the profile of ${userId} is lost, or there twice`),
        ...caughtWrongly(events, transferIds),
        ...(await this.toldWrongly(events)),
        ...(await disagreements(events, this.engines)),
      ];
      if ((await eventStore.head()) === head) return differences;
    }
  }

  private async hasCaught(transferIds: readonly string[]): Promise<boolean> {
    const { readStore } = this.engines;
    const { record } = chainEventsModel.collections;
    // All of them are read only when it looks as if they were there.
    const [newest] = await readStore.find(record.name, {
      filter: { reverted: false },
      sort: [['id', 'desc']],
      limit: 1,
    });
    const [isAt, mustBeAt] = [newest?.document['Id'], transferIds.at(-1)];
    if (isAt !== mustBeAt) throw new Error(`it has come to ${JSON.stringify(isAt)}, the chain to ${String(mustBeAt)}`);
    const current = Array.from((await everyDocument(readStore, record.name)).values())
      .filter(({ document }) => document['reverted'] === false)
      .map(({ document }) => document['Id']);
    const differs = current.findIndex((id, index) => id !== transferIds[index]);
    if (differs === -1 && current.length === transferIds.length) return true;
    const counts = `${String(current.length)} are caught of ${String(transferIds.length)}`;
    throw new Error(`${counts}; number ${String(differs)} is ${JSON.stringify(current[differs])}`);
  }

  /** Whatever of relay and projections has not reached the head. */
  private async behind(): Promise<string[]> {
    const { eventStore, readStore } = this.engines;
    const head = await eventStore.head();
    const names = [RELAY_CHECKPOINT, ...readModels.map(({ name }) => name)];
    const positions = await Promise.all(names.map(async (name) => [name, await readStore.position(name)] as const));
    return positions
      .filter(([, position]) => position < head)
      .map(([name, position]) => `${name} is at ${String(position)} of ${String(head)}`);
  }

  /** The subscriber has to be told every change, in the order in which they were stored. */
  private async toldWrongly(events: readonly StoredEvent[]): Promise<string[]> {
    const { subscription } = this;
    if (!subscription) return [];
    const { told, troubles } = subscription;
    const changes = chainChanges(events);
    await this.eventually(
      () => {
        if (told.length >= changes.length || troubles.length > 0) return true;
        throw new Error(`it was told ${String(told.length)} of ${String(changes.length)} changes`);
      },
      CATCHES_UP_WITHIN_MS,
      'the subscriber must be told every change',
    );
    const differs = changes.findIndex((change, index) => !isDeepStrictEqual(change, told[index]));
    return [
      ...troubles.map((trouble) => `the subscriber had ${trouble}`),
      ...(differs === -1 ? [] : [`the subscriber was told something else than change ${String(differs)}`]),
      ...(told.length > changes.length ? ['the subscriber was told more than happened'] : []),
    ];
  }
}

/** Every record of the chain is stored once, in its order, and none that it took back. */
const caughtWrongly = (events: readonly StoredEvent[], transferIds: readonly string[]): string[] => {
  const { records, repeated } = recordsAfter(chainChanges(events));
  return [
    ...repeated.map(({ change, id }) => `${id} is stored as ${change}, which it was already`),
    ...(isDeepStrictEqual(records, transferIds)
      ? []
      : ['what is stored of the chain is not what it has, in its order']),
  ];
};

const named = (names: readonly ServiceName[]): string => (names.length > 0 ? names.join() : 'all');
