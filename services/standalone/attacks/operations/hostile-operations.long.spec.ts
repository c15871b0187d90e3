import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { HARDFORKS } from '../../../../shared/chain/hardforks.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { atOnce } from '../../../../shared/testing/at-once.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { call, untilServed } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { isFullSize } from '../../../../shared/testing/sized.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { BundlerStreams } from '../../../onchain/bundler/mempool/bundler-streams.ts';
import { FORKS } from '../../../onchain/operations/domain/fork-rules.ts';
import { idOfOperation } from '../../../onchain/transactions/domain/transaction.ts';
import { RpcUnderTest } from '../../../onchain/testing/rpc-under-test.ethers.ts';
import { SendsUnderTest, type Sender } from '../../../onchain/testing/sends-under-test.ethers.ts';
import { ProviderGateway } from '../../../../shared/testing/chain/provider-gateway.ts';
import { roundRobin } from '../../../../shared/testing/round-robin.ts';
import { asGeth, HostileOperations } from './hostile-operations.ethers.ts';

/** `SEED=7 OPERATIONS=500 npm test -- hostile-operations` */
const SEED = Number(process.env['SEED'] ?? 1);
const OPERATIONS = Number(process.env['OPERATIONS'] ?? (isFullSize ? 500 : 60));
const USERS = isFullSize ? 50 : 20;
const ATTACKERS = 8;
const AT_ONCE = 4;
const EXECUTORS = 4;
const ETHER = 10n ** 18n;
const BLOCK_SECONDS = 1;
/** How often each user sends. */
const ROUNDS = 2;
const WAITS_SECONDS = 30;
/** One operation of a stranger is in a bundle, and three of such bundles are under way at a time. */
const OVER_WITHIN_MS = 60_000 + OPERATIONS * 1_000;
/** What a refusal may name. */
const RULES =
  /gas limits|fit no block|EIP-7825|too long|preVerificationGas is below|costs more than nodes take|below the base fee|above the tipMax|AA\d\d|pending|reverted a bundle|without a reason of the EntryPoint/;

const folder = temporaryFolder();

describe.each(HARDFORKS)('hostile operations at %s, at a node that refuses what geth does', (hardfork) => {
  let stop: () => Promise<unknown> = () => Promise.resolve();
  afterEach(() => stop());

  /** Milliseconds from the request until a block has it. */
  const inclusionMs = async (sends: SendsUnderTest, sender: Sender): Promise<number> => {
    const from = performance.now();
    const { status, body } = await untilServed(() => sends.send(sender));
    expect([status, body['code']]).toEqual([201, undefined]);
    const path = `/onchain/user-op-receipt/${String(Anvil.chainId)}/${body['userOpHash'] as string}`;
    const receipt = () => call(`${sends.service.url}${path}?wait=${String(WAITS_SECONDS)}`);
    // Answered 503 where the node of a busy machine is late, and to be asked for again.
    await eventually(
      async () => {
        const { body: told } = await receipt();
        if (told['status'] !== 'included' && told['status'] !== 'final') throw new Error(JSON.stringify(told));
        return true;
      },
      WAITS_SECONDS * 1_000,
      'the send must be included',
    );
    return performance.now() - from;
  };
  const plainSends = async (sends: SendsUnderTest, senders: readonly Sender[]): Promise<number[]> =>
    (
      await Promise.all(
        senders.map(async (sender) => {
          const times: number[] = [];
          for (let round = 0; round < ROUNDS; round += 1) times.push(await inclusionMs(sends, sender));
          return times;
        }),
      )
    ).flat();

  it(
    'hold up no send, cost no executor anything, and wait for nothing that nobody tells',
    async () => {
      const gateways: ProviderGateway[] = [];
      const through = async (rpcUrl: string) => {
        const gateway = await ProviderGateway.start(rpcUrl, 'here');
        gateway.answer = asGeth(gateway);
        gateways.push(gateway);
        return gateway.url;
      };
      const options = { executors: EXECUTORS, hardfork, through, depositWei: 10n * ETHER };
      const sends = await SendsUnderTest.start(join(folder, hardfork), options);
      stop = async () => {
        await sends.stop();
        await Promise.all(gateways.map((gateway) => gateway.stop()));
      };
      const app = await sends.app();
      const senders = await atOnce(USERS, () => sends.sender(app), 5);
      const attackers = await atOnce(ATTACKERS, () => RpcUnderTest.start(sends), 2);
      const known = await atOnce(12, (at) => roundRobin(attackers, at).deployed(), 4);
      await sends.testChain.setAutomine(false);
      await sends.testChain.call('evm_setIntervalMining', BLOCK_SECONDS);
      await plainSends(sends, senders);
      const without = Math.max(...(await plainSends(sends, senders)));

      const hostile = new HostileOperations(sends, FORKS[hardfork], new SeededRandom(SEED), known);
      const over = new AbortController();
      const attack = atOnce(OPERATIONS, (at) => hostile.send(roundRobin(attackers, at)), AT_ONCE).finally(() => {
        over.abort();
      });
      const times: number[] = [];
      do times.push(...(await plainSends(sends, senders)));
      while (!over.signal.aborted);
      await attack;
      await hostile.close();

      const slowest = Math.max(...times);
      const refused = [...hostile.refusals].map(([message, count]) => `${String(count)} × ${message}`);
      process.stdout.write(
        `${hardfork}, seed ${String(SEED)}: ${String(times.length)} sends, slowest ${slowest.toFixed(0)} ms, without the attack ${without.toFixed(0)} ms; ` +
          `${String(hostile.accepted.length)} hostile operations accepted, refused:\n  ${refused.join('\n  ')}\n`,
      );
      expect([...hostile.refusals.keys()].filter((message) => !RULES.test(message))).toEqual([]);

      const { eventStore, ids, clock } = sends.foundation;
      const streams = new BundlerStreams(new Transactor(eventStore, clock, ids), Anvil.chainId);
      const ofHash = (hash: string) => idOfOperation(Anvil.chainId, sends.prepared.entryPoint, hash);
      const open = async () => {
        const all = await Promise.all(hostile.accepted.map((hash) => streams.loadTransaction(ofHash(hash))));
        return all.filter(({ status, delayedBy }) => status === 'submitted' && delayedBy === null);
      };
      await eventually(
        async () => (await open()).length === 0,
        OVER_WITHIN_MS,
        'each must be over, or told why it waits',
      );
      for (const executor of sends.prepared.executors)
        expect(await sends.balance(executor)).toBeGreaterThanOrEqual(10n * ETHER);
    },
    OVER_WITHIN_MS * 10,
  );
});
