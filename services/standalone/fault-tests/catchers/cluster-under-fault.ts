import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { pino } from 'pino';
import { loadSettings } from '../../../../shared/config/load-settings.ts';
import { closeEngines, openEngines } from '../../../../shared/host/engines/engines.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { signIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProcesses, type ServiceProcess } from '../../../../shared/testing/processes/running-processes.ts';
import { ChainUnderTest } from '../../end-to-end/chain-under-test.ethers.ts';
import { registerTransfer } from '../../end-to-end/register-transfer.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { chainChanges, recordsAfter } from '../chain-changes.ts';

const CHAIN_IDS = [2484, 2485, 2486];
const TRANSFERS_PER_BLOCK = 3;
const BLOCK_EVERY_MS = 250;
const BLOCKS_PER_REORGANISATION = 7;
/** Blocks mined within a second or two, which only another catcher can have caught. */
const LATER_BLOCKS = 4;
const WAIT_MS = 120_000;

/** The stores that the test reads beside the processes. */
const openStores = (settings: Record<string, string>) =>
  openEngines(loadSettings(settings).settings, pino({ level: 'silent' }), ['eventStore', 'readStore']);

/** Two event catchers that share three chains, on which blocks are mined and reverted all the time. */
export class ClusterUnderFault {
  private readonly mining = new AbortController();
  private readonly miners: Promise<void>[];
  /** The longest time that another catcher needed to catch up. */
  slowestMs = 0;

  private constructor(
    private readonly chains: readonly ChainUnderTest[],
    private readonly processes: RunningProcesses,
    private readonly stores: Awaited<ReturnType<typeof openStores>>,
    private readonly random: SeededRandom,
    private catchers: ServiceProcess[],
  ) {
    this.miners = chains.map((chain) => this.mine(chain));
  }

  /** @param engines settings of the engines; none: embedded */
  static async start(
    folder: string,
    engines: Record<string, string>,
    random: SeededRandom,
  ): Promise<ClusterUnderFault> {
    const chains = await Promise.all(
      CHAIN_IDS.map((chainId) => ChainUnderTest.start(join(folder, String(chainId)), chainId)),
    );
    const CHAINS = JSON.stringify(chains.flatMap(({ setting }) => JSON.parse(setting) as unknown[]));
    const settings = { ...engines, CHAINS, DATA_DIR: join(folder, 'data') };
    const processes = await RunningProcesses.start(settings.DATA_DIR, settings);
    const user = await signIn(processes.development);
    for (const { chainId, token } of chains) {
      const { status } = await registerTransfer({ ...processes.development, chainId }, user, token.address);
      if (status !== 201) throw new Error(`the registration answered ${String(status)}`);
    }
    // Only the catchers' work is compared.
    await processes.stop('relay', 'stream', 'projector');
    const catchers = [processes.service('event-catcher'), await processes.another('event-catcher')];
    return new ClusterUnderFault(chains, processes, await openStores(settings), random, catchers);
  }

  /** Waits until each event catcher follows at least one chain, and all chains are followed. */
  async waitUntilShared(): Promise<void> {
    await this.eventually(
      async () => {
        const followers = await this.followers();
        return !followers.includes(undefined) && new Set(followers).size === this.catchers.length;
      },
      WAIT_MS,
      'each event catcher must follow some of the chains',
    );
  }

  /** Waits until every chain is followed up to its current head. */
  async waitUntilCaughtUp(): Promise<void> {
    const heads = await Promise.all(this.chains.map((chain) => chain.head()));
    await this.eventually(() => this.haveReached(heads), WAIT_MS, 'all chains must be followed');
  }

  /**
   * Kills a catcher that follows a chain, at a random moment, and waits until the other one has caught every chain up to
   * blocks mined since. Then another process takes its place.
   */
  async killOne(): Promise<void> {
    const killed = await this.oneThatFollows();
    await pause(this.random.between(0, BLOCK_EVERY_MS));
    killed.process.child.kill('SIGKILL');
    await this.waitForTheOthers();
    await killed.process.ended();
    const others = this.catchers.filter((catcher) => catcher !== killed);
    this.catchers = [...others, await this.processes.another('event-catcher')];
  }

  /**
   * Stops a catcher that follows a chain, as a debugger does, until the other one has taken over, and some time longer.
   */
  async stopOne(): Promise<void> {
    const { process } = await this.oneThatFollows();
    process.child.kill('SIGSTOP');
    try {
      await this.waitForTheOthers();
      await pause(this.random.between(0, 2_000));
    } finally {
      process.child.kill('SIGCONT');
    }
  }

  /** Stops mining, and compares what is stored with the chains. @returns the differences */
  async differences(): Promise<string[]> {
    this.mining.abort();
    await Promise.all(this.miners);
    await this.waitUntilCaughtUp();
    const found = await Promise.all(this.chains.map((chain) => this.differencesOf(chain)));
    return found.flat();
  }

  async stop(): Promise<void> {
    this.mining.abort();
    await Promise.all(this.miners);
    await this.processes.kill();
    await closeEngines(this.stores);
    await Promise.all(this.chains.map((chain) => chain.stop()));
  }

  private async differencesOf(chain: ChainUnderTest): Promise<string[]> {
    const stream = `chain-${String(chain.chainId)}-${chain.token.address.toLowerCase()}`;
    const { records, repeated } = recordsAfter(chainChanges(await this.stores.eventStore.read(stream)));
    const transferIds = [...(await chain.transferIds())];
    return [
      ...repeated.map(({ change, id }) => `${id} is stored as ${change} twice in a row`),
      ...(isDeepStrictEqual(records, transferIds)
        ? []
        : [
            `${String(records.length)} records of chain ${String(chain.chainId)} are not its ${String(transferIds.length)}`,
          ]),
    ];
  }

  private async waitForTheOthers(): Promise<void> {
    const from = performance.now();
    const heads = await Promise.all(this.chains.map(async (chain) => (await chain.head()) + LATER_BLOCKS));
    await this.eventually(() => this.haveReached(heads), WAIT_MS, 'the other must catch up');
    this.slowestMs = Math.max(this.slowestMs, performance.now() - from);
  }

  private async oneThatFollows(): Promise<ServiceProcess> {
    const followers = await this.followers();
    const follower = this.random.pick(followers);
    if (!follower) throw new Error('nobody follows the chain');
    return follower;
  }

  /** The catcher that follows each chain, by its lease. */
  private followers(): Promise<(ServiceProcess | undefined)[]> {
    const follower = async ({ chainId }: ChainUnderTest) => {
      const lease = await this.stores.readStore.lease(`chain ${String(chainId)}`);
      return this.catchers.find(({ process }) => process.child.pid === Number(lease?.holder?.split('/')[1]));
    };
    return Promise.all(this.chains.map(follower));
  }

  private async haveReached(heads: readonly number[]): Promise<boolean> {
    const reached = await Promise.all(
      this.chains.map(async ({ chainId }) => {
        const stream = `chain-${String(chainId)}`;
        const [newest] = await this.stores.eventStore.read(stream, { direction: 'backwards', limit: 1 });
        return Number(newest?.data['head'] ?? -1);
      }),
    );
    if (reached.every((block, at) => block >= (heads[at] ?? 0))) return true;
    throw new Error(`the blocks ${reached.join()} are reached, of ${heads.join()}`);
  }

  private async mine(chain: ChainUnderTest): Promise<void> {
    for (let blocks = 1; !this.mining.signal.aborted; blocks += 1) {
      const revert = blocks % BLOCKS_PER_REORGANISATION === 0 ? await chain.snapshot() : undefined;
      await chain.mine(1, TRANSFERS_PER_BLOCK);
      if (revert) {
        await pause(BLOCK_EVERY_MS);
        await revert();
        await chain.mine(2, 1);
      }
      await pause(BLOCK_EVERY_MS);
    }
  }

  private async eventually(ask: () => Promise<boolean>, withinMs: number, otherwise: string): Promise<void> {
    try {
      await eventually(ask, withinMs, otherwise);
    } catch (cause) {
      const reason = cause instanceof Error ? String(cause.cause) : '';
      throw new Error(`${otherwise}: ${reason}\n${this.processes.logs}`, { cause });
    }
  }
}
