import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventRecord } from '../../../../schemas/http/event-catcher/event-record.ts';
import type { WatchedContracts } from '../../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { WatchStatus } from '../../../../schemas/http/event-catcher/watched-contract.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { callUntilServed, signIn, type SignedIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { ProgramOnChain } from '../program-on-chain.ts';
import { changing, ProviderGateway } from '../../../../shared/testing/chain/provider-gateway.ts';
import { registerTransfer } from '../register-transfer.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 120_000;
const TEST_MS = 1_200_000;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const SOMEBODY = `0x${'0'.repeat(24)}${'a1'.repeat(20)}`;
const WATCHES = 1_000;
const REGISTERED_AT_ONCE = 10;
const BLOCKS = 32;
const DEPTH_MAX = 32;
/** So many that no block becomes final which is reverted here. */
const CONFIRMATIONS = 40;

interface RpcCall {
  method: string;
  params: unknown[];
}

/** Excludes the verification, which reads final blocks at a rate of its own: in ranges, with headers by number. */
const isOfHead = ({ method, params: [asked] }: RpcCall): boolean =>
  method === 'eth_getLogs' ? 'blockHash' in (asked as object) : !String(asked).startsWith('0x');

describe('the head of a chain, with a thousand watches', () => {
  let anvil: Anvil;
  let provider: ProviderGateway;
  let ours: ProgramOnChain<RunningProgram>;
  let caller: SignedIn;
  let transfers = 0;
  /** The hashes of the heads that the provider told, in their order. */
  const heads: string[] = [];

  beforeAll(async () => {
    anvil = await Anvil.start(join(folder, 'chain'));
    provider = await ProviderGateway.start(anvil.rpcUrl);
    provider.answer = changing(({ params: [block] }, result) => {
      if (block === 'latest') heads.push((result as { hash: string }).hash);
      return block === 'finalized' ? null : result;
    });
    const chain = {
      rpcUrls: [provider.url],
      wsUrls: [anvil.rpcUrl.replace('http', 'ws')],
      confirmations: CONFIRMATIONS,
    };
    const settings = { QUOTAS: JSON.stringify({ userWatches: WATCHES }) };
    const start = (dataFolder: string, more: Record<string, string>) => RunningProgram.start(dataFolder, more);
    ours = await ProgramOnChain.start({ folder, start, anvil, chain, settings });
    caller = await signIn(ours.program.development);
  }, TEST_MS);
  afterAll(async () => {
    await ours.stop();
    await provider.stop();
  });

  const contractOf = (index: number): string => `0x${(0xc0de0000 + index).toString(16).padStart(40, '0')}`;
  const [first, last] = [contractOf(0), contractOf(WATCHES - 1)];
  /** Mines a block with a transfer of each contract. */
  const transfer = (...contracts: readonly string[]): Promise<void> =>
    anvil.mine(
      contracts.map((address) => {
        const data = `0x${(transfers += 1).toString(16).padStart(64, '0')}`;
        return { address, topics: [TRANSFER, SOMEBODY, SOMEBODY], data };
      }),
    );
  const get = async <Body>(path: string): Promise<Body> =>
    (await callUntilServed(ours.program.development.eventUrl + path, { headers: caller.bearer }))
      .body as unknown as Body;
  const status = (contract: string) => get<WatchStatus>(`/api/v1/status/2484/${contract}/Transfer`);
  const headIsRead = (): Promise<unknown> =>
    eventually(
      async () => {
        const { headBlock, state } = await status(last);
        return state === 'live' && headBlock === Number(await anvil.call('eth_blockNumber'));
      },
      HAPPENS_WITHIN_MS,
      'the newest block must be read',
    );
  const idsOf = async (contract: string, query = ''): Promise<string[]> => {
    const path = `/api/v1/events?chainId=2484&contractAddress=${contract}&take=1000${query}`;
    return (await get<{ items: EventRecord[] }>(path)).items.map(({ Id }) => Id);
  };
  const idsOnChain = async (address: string): Promise<string[]> => {
    const logs = await anvil.call('eth_getLogs', { fromBlock: '0x0', toBlock: 'latest', address });
    return (logs as { blockHash: string; transactionHash: string; logIndex: string }[]).map(
      ({ blockHash, transactionHash, logIndex }) => `2484:${blockHash}:${transactionHash}:${String(Number(logIndex))}`,
    );
  };
  const isAsOnChain = (contract: string): Promise<unknown> =>
    eventually(
      async () => JSON.stringify(await idsOf(contract)) === JSON.stringify(await idsOnChain(contract)),
      HAPPENS_WITHIN_MS,
      'the records must be those of the chain',
    );

  /**
   * Returns the number of calls while blocks arrive in which these contracts have logs, in turn. Polls that find the
   * head of the poll before do not count: a slow machine has more of them between two blocks.
   */
  const callsOf = async (emitting: readonly string[][]): Promise<{ calls: number; logs: number }> => {
    provider.asked.length = 0;
    heads.length = 0;
    for (let block = 0; block < BLOCKS; block += emitting.length) {
      for (const contracts of emitting) {
        await transfer(...contracts);
        await headIsRead();
      }
    }
    const calls = provider.asked.flatMap((body) => JSON.parse(body) as RpcCall | RpcCall[]).filter(isOfHead);
    const idle = heads.filter((hash, at) => hash === heads[at - 1]).length;
    return { calls: calls.length - idle, logs: calls.filter(({ method }) => method === 'eth_getLogs').length };
  };

  it(
    'costs two calls a block at most',
    async () => {
      await ours.mine(2 * CONFIRMATIONS);
      for (let from = 0; from < WATCHES; from += REGISTERED_AT_ONCE) {
        const answers = Array.from({ length: REGISTERED_AT_ONCE }, (_, at) =>
          registerTransfer(ours.program.development, caller, contractOf(from + at)),
        );
        for (const { status: answered } of await Promise.all(answers)) expect([200, 201]).toContain(answered);
      }
      const areLive = async () => {
        const { items } = await get<WatchedContracts>(`/api/v1/contracts?take=${String(WATCHES)}`);
        return items.length === WATCHES && items.every(({ state }) => state === 'live');
      };
      await eventually(areLive, HAPPENS_WITHIN_MS, 'all must be live');
      await transfer(first);
      await headIsRead();
      const some = await callsOf([[first], [last], [first, last], []]);
      expect(some.logs).toBe((BLOCKS * 3) / 4);
      expect(some.calls).toBeLessThanOrEqual(2 * BLOCKS);
      // Of 64 blocks with logs, one costs a further call: for the finalized block.
      const each = await callsOf([[first], [last]]);
      expect(each.logs).toBe(BLOCKS);
      expect(each.calls).toBeLessThanOrEqual(2 * BLOCKS + 1);
      await Promise.all([isAsOnChain(first), isAsOnChain(last)]);
    },
    TEST_MS,
  );

  it(
    `follows reorganisations of each depth up to ${String(DEPTH_MAX)}`,
    async () => {
      for (let depth = 1; depth <= DEPTH_MAX; depth += 1) {
        for (let block = 0; block < depth; block += 1) await transfer(first);
        await headIsRead();
        const before = await idsOf(first, '&status=reverted');
        await anvil.rollBack(depth);
        for (let block = 0; block <= depth; block += 1) await transfer(first);
        await isAsOnChain(first);
        expect(await idsOf(first, '&status=reverted')).toHaveLength(before.length + depth);
      }
    },
    TEST_MS,
  );

  it(
    'follows a reorganisation that came while the program was down',
    async () => {
      for (let block = 0; block < DEPTH_MAX; block += 1) await transfer(first);
      await isAsOnChain(first);
      const reverted = await idsOf(first, '&status=reverted');
      await ours.program.kill();
      await anvil.rollBack(DEPTH_MAX);
      for (let block = 0; block <= DEPTH_MAX; block += 1) await transfer(first);
      ours.program = await ours.program.restart();
      await isAsOnChain(first);
      expect(await idsOf(first, '&status=reverted')).toHaveLength(reverted.length + DEPTH_MAX);
    },
    TEST_MS,
  );
});
