import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { pino } from 'pino';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { closeEngines, everyEngine, openEngines, type Engines } from '../../../shared/host/engines/engines.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { personalDataOf, type PersonalData } from '../../../shared/key-vault/personal-data.ts';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { readModels } from '../../../shared/read-models/catalogue.ts';
import { LOG } from '../../../shared/read-models/transparency-log.ts';
import { chainEventsModel } from '../../../shared/read-models/event-catcher/chain-events.ts';
import { BreakableServers, type ServerName } from '../../../shared/testing/engines/breakable-servers.ts';
import { EventStoreServer } from '../../../shared/testing/event-store-server/event-store-server.esdb.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { signIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import type { ServiceName } from '../../../shared/config/services.ts';
import { RunningProcesses, type ServiceProcess } from '../../../shared/testing/processes/running-processes.ts';
import { RELAY_CHECKPOINT } from '../../relay/publish-events/checkpoint.ts';
import { ChainUnderTest } from '../end-to-end/chain-under-test.ethers.ts';
import { registerTransfer } from '../end-to-end/register-transfer.ts';
import { disagreements, everyDocument, everyEvent } from './agreement.ts';
import { chainChanges, recordsAfter } from './chain-changes.ts';
import { FaultLog } from './fault-log.ts';
import { ResumingSubscription } from './resuming-subscription.ethers.ts';
import { Workload } from './workload.ethers.ts';
import { retryUntilAnswered } from './retry-until-answered.ts';

/** How long a slow machine may need to catch up after an outage. */
const CATCHES_UP_WITHIN_MS = 300_000;

/** The bound of other waits; much less than the timeout of a test, so that a wait fails with its own message. */
export const WAIT_MS = 120_000;

/** A service of which one process works at a time while the others stand by. */
export type Worker = 'relay' | 'projector' | 'event-catcher';

const checkpoints = {
  relay: [RELAY_CHECKPOINT],
  projector: readModels.map(({ name }) => name),
} as const satisfies Partial<Record<Worker, readonly string[]>>;

/** The services as processes, their chain and their servers, which can be killed, and a connection to the engines. */
export class SystemUnderFault {
  private readonly workloads: Workload[] = [];
  private current: Workload | undefined;
  private subscription: ResumingSubscription | undefined;
  private readonly faults = new FaultLog();

  private constructor(
    private readonly servers: BreakableServers,
    readonly eventStoreServer: EventStoreServer,
    readonly chain: ChainUnderTest,
    readonly processes: RunningProcesses,
    readonly engines: Engines,
    private readonly personalData: PersonalData,
  ) {}

  /** @param through starts a provider in front of the chain, and returns its address; default: none */
  static async start(
    folder: string,
    through: (rpcUrl: string) => Promise<string> = (rpcUrl) => Promise.resolve(rpcUrl),
  ): Promise<SystemUnderFault> {
    const [servers, eventStoreServer, chain] = await Promise.all([
      BreakableServers.start(join(folder, 'servers'), ['kafka', 'mongo']),
      EventStoreServer.start(),
      ChainUnderTest.start(join(folder, 'chain')),
    ]);
    const settings = {
      ...servers.settings,
      EVENTSTORE_URL: eventStoreServer.url,
      CHAINS: chain.settingThrough(await through(chain.rpcUrl)),
      TOPIC_PREFIX: `faults-${randomUUID().slice(0, 8)}.`,
      DATA_DIR: join(folder, 'data'),
    };
    const processes = await RunningProcesses.start(settings.DATA_DIR, settings);
    const engines = await openEngines(loadSettings(settings).settings, pino({ level: 'silent' }), everyEngine);
    const loaded = loadSettings(settings).settings;
    const personalData = personalDataOf({ ...engines, masterKey: loadMasterKey(loaded), clock: systemClock });
    return new SystemUnderFault(servers, eventStoreServer, chain, processes, engines, personalData);
  }

  /** Registers the token's transfers, from the first block on. */
  async watchTheToken(): Promise<void> {
    const { development } = this.processes;
    const { status } = await registerTransfer(development, await signIn(development), this.chain.token.address);
    if (status !== 201) throw new Error(`the registration answered ${String(status)}`);
  }

  /** Subscribes to the transfers. Call it before any reorganisation: earlier reverted records are not delivered. */
  async subscribe(): Promise<void> {
    this.subscription = await ResumingSubscription.open(this.processes.development, this.chain.token.address);
  }

  /** Starts a workload, which `stopWorkload` ends. */
  work(): Workload {
    const workload = new Workload(this.processes.development, this.chain);
    this.workloads.push(workload);
    this.current = workload;
    return workload;
  }

  async stopWorkload(): Promise<void> {
    const { current } = this;
    this.current = undefined;
    await current?.stop();
  }

  /** Kills these processes, or all. */
  async kill(...names: ServiceName[]): Promise<void> {
    await this.processes.kill(...names);
    this.faults.add(`${nameList(names)} killed`);
  }

  async restart(...names: ServiceName[]): Promise<void> {
    await this.processes.restart(...names);
    this.faults.add(`${nameList(names)} started again`);
  }

  async killServers(...names: ServerName[]): Promise<void> {
    this.faults.add(`${names.join()} killed`);
    await Promise.all(names.map((name) => this.servers.kill(name)));
  }

  async restartServers(...names: ServerName[]): Promise<void> {
    for (const name of names) await this.servers.revive(name);
    this.faults.add(`${names.join()} started again`);
  }

  /**
   * Stops the workload, waits until everything has caught up, and compares it with the event store and the chain.
   * @returns what differs, acknowledged commands that are not stored once, and the faults since the last comparison
   */
  async differences(): Promise<string[]> {
    await this.stopWorkload();
    // Copied, because an array that fetch parsed is of another realm and never equals one of this realm.
    const transferIds = [...(await this.chain.transferIds())];
    await this.eventually(
      () => this.hasCaught(transferIds),
      CATCHES_UP_WITHIN_MS,
      'the records must equal the chain, in its order',
    );
    const differences = await this.differencesAtHead(transferIds);
    if (differences.length > 0) return [...differences, this.faults.text];
    this.faults.clear();
    return [];
  }

  /** Waits for a condition; the error of a failure has the faults and the logs of the processes. */
  async eventually(ask: () => Promise<boolean> | boolean, withinMs: number, otherwise: string): Promise<void> {
    try {
      await eventually(ask, withinMs, otherwise);
    } catch (cause) {
      const reason = cause instanceof Error ? String(cause.cause) : '';
      throw new Error(`${otherwise}: ${reason}\n${this.faults.text}\n${this.processes.logs}`, { cause });
    }
  }

  /** Whether this process does all of the worker's work or, where `isWorking` is `false`, none of it. */
  async works(name: Worker, service: ServiceProcess, isWorking: boolean): Promise<boolean> {
    if (name === 'event-catcher') {
      const lease = await this.engines.readStore.lease(`chain ${String(this.processes.development.chainId)}`);
      return (Number(lease?.holder?.split('/')[1]) === service.process.child.pid) === isWorking;
    }
    const followed = await service.followedHere();
    return checkpoints[name].every((checkpoint) => followed.get(checkpoint) === isWorking);
  }

  /** Does `act` while processes are suspended by SIGSTOP, as by a debugger. */
  async whileStopped(stopped: readonly ServiceProcess[], act: () => Promise<void>): Promise<void> {
    const names = stopped.map(({ process }) => process.name).join();
    for (const { process } of stopped) process.child.kill('SIGSTOP');
    this.faults.add(`${names} stopped`);
    try {
      await act();
    } finally {
      for (const { process } of stopped) process.child.kill('SIGCONT');
      this.faults.add(`${names} resumed`);
    }
  }

  /** How many events of the chain are stored. */
  async stored(): Promise<number> {
    const stream = `chain-${String(this.processes.development.chainId)}-${this.chain.token.address.toLowerCase()}`;
    const [newest] = await this.engines.eventStore.read(stream, { direction: 'backwards', limit: 1 });
    return newest ? newest.revision + 1 : 0;
  }

  /** The head in the last stored progress of the chain. */
  async storedHead(): Promise<unknown> {
    const stream = `chain-${String(this.processes.development.chainId)}`;
    const [newest] = await this.engines.eventStore.read(stream, { direction: 'backwards', limit: 1 });
    return newest?.data['head'];
  }

  async stop(): Promise<void> {
    await this.stopWorkload();
    this.subscription?.close();
    await this.processes.kill();
    await closeEngines(this.engines);
    await Promise.all([this.servers.stop(), this.eventStoreServer.close(), this.chain.stop()]);
  }

  /** Compares again if events were appended meanwhile, as when the subscriber refreshes its token. */
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
      const opened = await this.personalData.open(events);
      const lost = this.workloads.flatMap((workload) => workload.lost(opened));
      const differences = [
        ...lost.map(({ userId }) => `the profile of ${userId} is lost or stored twice`),
        ...differencesFromChain(events, transferIds),
        ...(await this.differencesOfSubscription(events)),
        ...(await retryUntilAnswered(() => disagreements(events, this.engines, this.personalData))),
      ];
      if ((await eventStore.head()) === head) return differences;
    }
  }

  private async hasCaught(transferIds: readonly string[]): Promise<boolean> {
    const { readStore } = this.engines;
    const { record } = chainEventsModel.collections;
    // All records are read only once the newest one is there.
    const [newest] = await readStore.find(record.name, {
      filter: { reverted: false },
      sort: [['id', 'desc']],
      limit: 1,
    });
    const [actual, expected] = [newest?.document['Id'], transferIds.at(-1)];
    if (actual !== expected) {
      throw new Error(`the newest record is ${JSON.stringify(actual)}, that of the chain ${String(expected)}`);
    }
    const current = Array.from((await everyDocument(readStore, record.name)).values())
      .filter(({ document }) => document['reverted'] === false)
      .map(({ document }) => document['Id']);
    const index = current.findIndex((id, at) => id !== transferIds[at]);
    if (index === -1 && current.length === transferIds.length) return true;
    const counts = `${String(current.length)} records of ${String(transferIds.length)}`;
    throw new Error(`${counts}; number ${String(index)} is ${JSON.stringify(current[index])}`);
  }

  /** The checkpoints of relay and projections that have not reached the head. */
  private async behind(): Promise<string[]> {
    const { eventStore, readStore } = this.engines;
    const head = await eventStore.head();
    const names = [RELAY_CHECKPOINT, LOG, ...readModels.map(({ name }) => name)];
    const positions = await Promise.all(names.map(async (name) => [name, await readStore.position(name)] as const));
    return positions
      .filter(([, position]) => position < head)
      .map(([name, position]) => `${name} is at ${String(position)} of ${String(head)}`);
  }

  /** The subscriber must receive every change, in the order of the event store. */
  private async differencesOfSubscription(events: readonly StoredEvent[]): Promise<string[]> {
    const { subscription } = this;
    if (!subscription) return [];
    const { received, failures } = subscription;
    const changes = chainChanges(events);
    await this.eventually(
      () => {
        if (received.length >= changes.length || failures.length > 0) return true;
        throw new Error(`it has received ${String(received.length)} of ${String(changes.length)} changes`);
      },
      CATCHES_UP_WITHIN_MS,
      'the subscriber must receive every change',
    );
    const index = changes.findIndex((change, at) => !isDeepStrictEqual(change, received[at]));
    return [
      ...failures.map((failure) => `the subscription failed: ${failure}`),
      ...(index === -1 ? [] : [`the subscriber received something else than change ${String(index)}`]),
      ...(received.length > changes.length ? ['the subscriber received more changes than are stored'] : []),
    ];
  }
}

/** Every record of the chain must be stored once, in its order, and reverted ones must be stored as reverted. */
const differencesFromChain = (events: readonly StoredEvent[], transferIds: readonly string[]): string[] => {
  const { records, repeated } = recordsAfter(chainChanges(events));
  return [
    ...repeated.map(({ change, id }) => `${id} is stored as ${change} twice in a row`),
    ...(isDeepStrictEqual(records, transferIds) ? [] : ['the stored records of the chain differ from the chain']),
  ];
};

const nameList = (names: readonly ServiceName[]): string => (names.length > 0 ? names.join() : 'all');
