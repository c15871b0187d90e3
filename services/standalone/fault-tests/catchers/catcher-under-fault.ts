import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { EventRecord } from '../../../../schemas/http/event-catcher/event-record.ts';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { call, signIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { ProviderGateway } from '../../../../shared/testing/chain/provider-gateway.ts';
import { registerTransfer } from '../../end-to-end/register-transfer.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { chainChanges, recordsAfter } from '../chain-changes.ts';
import { ownRandom } from '../fault-random.ts';

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const SOMEBODY = `0x${'0'.repeat(24)}${'a1'.repeat(20)}`;
const HISTORY_BLOCKS = 400;
const LOGS_PER_BLOCK = 3;
const BLOCK_EVERY_MS = 150;
const BLOCKS_PER_REORGANISATION = 5;
const CONFIRMATIONS = 12;
const REORGANISED_MOST = 8;
/** Maximum blocks per request of the provider, and the time of an answer, so that a backfill takes a while. */
const PROVIDER = { blocks: 20, answersInMs: 50 };
const CAUGHT_UP_WITHIN_MS = 300_000;
const TAKE = 1_000;

interface RawLog {
  blockHash: string;
  transactionHash: string;
  logIndex: string;
}

interface Asked {
  id: unknown;
  method: string;
  params: { fromBlock?: string; toBlock?: string }[];
}

/** The whole program, embedded, on a chain with a history, on which blocks are mined and reverted all the time. */
export class CatcherUnderFault {
  private readonly mining = new AbortController();
  private readonly mined: Promise<void>;
  /** Start block of each registered contract. */
  private readonly startBlocks = new Map<string, number>();
  private reading = 0;

  private constructor(
    private readonly folder: string,
    private readonly anvil: Anvil,
    private readonly provider: ProviderGateway,
    private readonly contracts: readonly string[],
    private readonly random: SeededRandom,
    private program: RunningProgram,
  ) {
    this.provider.answer = (body, honest) => this.answer(body, honest);
    this.mined = this.mineOn();
  }

  /** @param contracts how many can be registered */
  static async start(folder: string, contracts: number, random: SeededRandom): Promise<CatcherUnderFault> {
    const mining = ownRandom(random);
    const anvil = await Anvil.start(join(folder, 'chain'));
    const provider = await ProviderGateway.start(anvil.rpcUrl);
    const chain = { chainId: Anvil.chainId, rpcUrls: [provider.url], confirmations: CONFIRMATIONS };
    const data = join(folder, 'data');
    const addresses = Array.from(
      { length: contracts },
      (_, at) => `0x${(0xc0de0000 + at).toString(16).padStart(40, '0')}`,
    );
    for (let block = 0; block < HISTORY_BLOCKS; block += 1) await mineBlock(anvil, addresses, mining);
    const program = await RunningProgram.start(data, {
      CHAINS: JSON.stringify([chain]),
      QUOTAS: JSON.stringify({ userWatches: contracts }),
    });
    return new CatcherUnderFault(data, anvil, provider, addresses, mining, program);
  }

  /** Whether the provider is answering a request for a range of blocks. */
  get isReadingHistory(): boolean {
    return this.reading > 0;
  }

  /** Registers the next contract, with as much history as there was at first. */
  async registerNext(): Promise<void> {
    const user = await signIn(this.program.development);
    const contract = this.contracts[this.startBlocks.size];
    if (contract === undefined) throw new Error('every contract is registered');
    const startBlock = Math.max(0, Number(await this.anvil.call('eth_blockNumber')) - HISTORY_BLOCKS);
    this.startBlocks.set(contract, startBlock);
    const { status, body } = await registerTransfer(this.program.development, user, contract, 'transfer', startBlock);
    if (status !== 201) throw new Error(`the registration answered ${String(status)}: ${JSON.stringify(body)}`);
  }

  async killAndRestart(): Promise<void> {
    await this.program.kill();
    this.program = await this.program.restart();
  }

  /** Stops mining, waits until everything is caught, and compares it with the chain. @returns the differences */
  async differences(): Promise<string[]> {
    this.mining.abort();
    await this.mined;
    const { bearer } = await signIn(this.program.development);
    const contracts = Array.from(this.startBlocks.keys());
    const { eventUrl } = this.program.development;
    const queried = async (contract: string): Promise<string[]> => {
      const query = `chainId=${String(Anvil.chainId)}&contractAddress=${contract}&take=${String(TAKE)}`;
      const { body } = await call(`${eventUrl}/api/v1/events?${query}`, { headers: bearer });
      return (body as unknown as { items: EventRecord[] }).items.map(({ Id }) => Id);
    };
    for (const contract of contracts) {
      const onChain = await this.idsOnChain(contract);
      const isWhole = async () => areSame(await queried(contract), onChain);
      await eventually(isWhole, CAUGHT_UP_WITHIN_MS, `the records of ${contract} must be those of the chain`).catch(
        async (cause: unknown) => {
          const found = await queried(contract);
          throw new Error(`of ${String(onChain.length)} there are ${String(found.length)}\n${this.program.logs}`, {
            cause,
          });
        },
      );
    }
    await this.program.stop();
    const store = new SqliteEventStore(join(this.folder, 'events.db'));
    try {
      const found: string[] = [];
      for (const contract of contracts) {
        const events = await store.read(`chain-${String(Anvil.chainId)}-${contract}`);
        const { records, repeated } = recordsAfter(chainChanges(events));
        found.push(...repeated.map(({ change, id }) => `${id} is stored as ${change} twice in a row`));
        if (!areSame(records, await this.idsOnChain(contract)))
          found.push(`the records of ${contract} are not those of the chain, in its order`);
      }
      return found;
    } finally {
      await store.close();
    }
  }

  async stop(): Promise<void> {
    this.mining.abort();
    await this.mined;
    await this.program.stop();
    await this.provider.stop();
    await this.anvil.stop();
  }

  private async answer(body: string, honest: () => Promise<string>): Promise<string> {
    const calls = [JSON.parse(body)].flat() as Asked[];
    const asked = calls.find(({ method, params }) => method === 'eth_getLogs' && params[0]?.toBlock !== undefined);
    if (!asked) return honest();
    const [{ fromBlock = '', toBlock = '' } = {}] = asked.params;
    if (Number(toBlock) - Number(fromBlock) >= PROVIDER.blocks) {
      const error = { code: -32_600, message: `block range is too large, max is ${String(PROVIDER.blocks)} blocks` };
      return JSON.stringify({ jsonrpc: '2.0', id: asked.id, error });
    }
    this.reading += 1;
    try {
      await pause(PROVIDER.answersInMs);
      return await honest();
    } finally {
      this.reading -= 1;
    }
  }

  private async mineOn(): Promise<void> {
    for (let blocks = 1; !this.mining.signal.aborted; blocks += 1) {
      await mineBlock(this.anvil, this.contracts, this.random);
      if (blocks % BLOCKS_PER_REORGANISATION === 0) {
        const depth = this.random.between(1, REORGANISED_MOST);
        await this.anvil.rollBack(depth);
        for (let block = 0; block <= depth; block += 1) await mineBlock(this.anvil, this.contracts, this.random);
      }
      await pause(BLOCK_EVERY_MS);
    }
  }

  /** In chain order. */
  private async idsOnChain(address: string): Promise<string[]> {
    const fromBlock = `0x${(this.startBlocks.get(address) ?? 0).toString(16)}`;
    const logs = (await this.anvil.call('eth_getLogs', { fromBlock, toBlock: 'latest', address })) as RawLog[];
    return logs.map(({ blockHash, transactionHash, logIndex }) =>
      [Anvil.chainId, blockHash, transactionHash, Number(logIndex)].join(':'),
    );
  }
}

const areSame = (left: readonly string[], right: readonly string[]): boolean => left.join() === right.join();

/** Mines a block with transfers of some of these contracts. */
const mineBlock = (anvil: Anvil, contracts: readonly string[], random: SeededRandom): Promise<void> =>
  anvil.mine(
    Array.from({ length: LOGS_PER_BLOCK }, () => ({
      address: random.pick(contracts) ?? '',
      topics: [TRANSFER, SOMEBODY, SOMEBODY],
      data: random.hash(),
    })),
  );
