import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { atOnce } from '../../../../shared/testing/at-once.ts';
import { transactionStream } from '../../../../schemas/events/onchain/transaction-events.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { call, untilServed } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { isFullSize } from '../../../../shared/testing/sized.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { executeCall } from '../../../onchain/operations/domain/account-calls.ts';
import { RpcUnderTest, type OwnedAccount } from '../../../onchain/testing/rpc-under-test.ethers.ts';
import { roundRobin } from '../../../../shared/testing/round-robin.ts';
import { NOBODY, SendsUnderTest, type Sender } from '../../../onchain/testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const SECONDS = isFullSize ? 60 : 10;
const A_SECOND = 50;
const SENDERS = 10;
const ATTACKERS = 10;
const SEND_EVERY_MS = 200;
const INCLUDED_WITHIN_MS = 60_000;
const ESTIMATED_WITHIN_MS = 30_000;
/** Hashes 100 KB until 60,000 gas are left, so it behaves differently with each gas limit. */
const BURNS_ALL = '0x5b620186a06000205061ea605a11600057';
const PLENTY = { points: 100_000, seconds: 1 };
/** Senders and attackers, who elsewhere have addresses of their own, have one here: a slow machine sends much at once. */
const ANY_ADDRESS = { address: PLENTY, requestsPerAddress: PLENTY, connectionsPerAddress: PLENTY };

describe('estimates that take all gas that they may', () => {
  let sends: SendsUnderTest;
  let senders: Sender[];
  let attackers: { rpc: RpcUnderTest; account: OwnedAccount }[];
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, {
      executors: 2,
      settings: { RATE_LIMITS: JSON.stringify(ANY_ADDRESS) },
    });
    const app = await sends.app();
    senders = await atOnce(SENDERS, () => sends.sender(app), 2);
    attackers = await atOnce(
      ATTACKERS,
      async () => {
        const rpc = await RpcUnderTest.start(sends);
        return { rpc, account: await rpc.deployed() };
      },
      2,
    );
    await sends.testChain.call('evm_setIntervalMining', 1);
  }, 120_000);
  afterAll(() => sends.stop());

  const p99 = (times: readonly number[]): number =>
    times.toSorted((left, right) => left - right)[Math.ceil(times.length * 0.99) - 1] ?? 0;

  /**
   * @returns the 99th percentiles, in milliseconds, of how long sends at a steady pace took to be answered and to be
   * included
   */
  const slowestSends = async (seconds: number): Promise<{ answered: number; included: number }> => {
    const times = await Promise.all(
      Array.from({ length: (seconds * 1_000) / SEND_EVERY_MS }, async (_, at) => {
        await pause(at * SEND_EVERY_MS);
        const from = Date.now();
        const { status, body } = await untilServed(() => sends.send(roundRobin(senders, at)));
        expect([status, body['code']]).toEqual([201, undefined]);
        const answered = Date.now() - from;
        return { answered, included: (await inclusionTime(body['id'])) - from };
      }),
    );
    return {
      answered: p99(times.map(({ answered }) => answered)),
      included: p99(times.map(({ included }) => included)),
    };
  };
  const inclusionTime = async (id: unknown): Promise<number> => {
    const { eventStore } = sends.foundation;
    const included = async () =>
      (await eventStore.read(transactionStream(String(id)))).find(({ type }) => type === 'TxIncluded');
    return (await eventually(included, INCLUDED_WITHIN_MS, 'the send must be included')).time;
  };
  /** @returns the outcome: `estimated`, `busy` if it had to wait for too long, the status, or what is wrong */
  const hostileEstimate = async (at: number): Promise<string> => {
    const { rpc, account } = roundRobin(attackers, at);
    const callData = executeCall({ to: NOBODY, value: 0n, data: '0x' });
    const operation = rpc.form(rpc.operation(account, { nonce: 1n, callData }));
    const params = [operation, sends.prepared.entryPoint, { [NOBODY]: { code: BURNS_ALL } }];
    const request = { jsonrpc: '2.0', id: at, method: 'eth_estimateUserOperationGas', params };
    const { status, body } = await call(rpc.url, { method: 'POST', body: request, headers: rpc.bearer });
    if (status !== 200) return String(status);
    if (body['result']) return 'estimated';
    const error = JSON.stringify(body['error']);
    return error.includes('many estimates are asked for') ? 'busy' : error;
  };
  /**
   * Each of so many clients sends an estimate a second, and waits for the answer: a slow machine, which attackers and
   * service share here, has no more of them to answer at once. On such a machine the clients go on until one is estimated.
   * @returns the outcomes of each client's estimates
   */
  const estimatesForSeconds = (seconds: number): Promise<string[][]> => {
    let isOneEstimated = false;
    return atOnce(A_SECOND, async (client) => {
      const outcomes: string[] = [];
      const until = Date.now() + seconds * 1_000;
      await pause((client * 1_000) / A_SECOND);
      while (Date.now() < until || !isOneEstimated) {
        const [outcome] = await Promise.all([hostileEstimate(client), pause(1_000)]);
        outcomes.push(outcome);
        isOneEstimated ||= outcome === 'estimated';
      }
      return outcomes;
    });
  };

  it(
    'are estimated or refused, and each send is accepted and included meanwhile',
    async () => {
      await eventually(
        async () => (await hostileEstimate(0)) === 'estimated',
        ESTIMATED_WITHIN_MS,
        'one must be estimated',
      );
      await slowestSends(5);
      const without = await slowestSends(SECONDS);
      const attack = estimatesForSeconds(SECONDS);
      const under = await slowestSends(SECONDS);
      const answers = Map.groupBy((await attack).flat(), (answer) => answer);
      const count = (answer: string): number => answers.get(answer)?.length ?? 0;
      process.stdout.write(
        `p99 of sends under ${String(A_SECOND)} hostile estimates a second: answered within ${String(under.answered)} ms, ` +
          `without them ${String(without.answered)} ms; included within ${String(under.included)} ms, without them ` +
          `${String(without.included)} ms; estimates: ${String(count('estimated'))} answered, ${String(count('429'))} refused, ` +
          `${String(count('503') + count('busy'))} too late\n`,
      );
      expect(
        Array.from(answers.keys()).filter((answer) => !['estimated', 'busy', '429', '503'].includes(answer)),
      ).toEqual([]);
      expect(count('estimated')).toBeGreaterThan(0);
    },
    (3 * SECONDS + 600) * 1_000,
  );
});
