import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { atOnce } from '../../../shared/testing/at-once.ts';
import { call } from '../../../shared/testing/http-caller.ethers.ts';
import { isFullSize } from '../../../shared/testing/sized.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { executeCall } from '../../account/domain/account-calls.ts';
import { RpcUnderTest, type OwnedAccount } from '../../account/testing/rpc-under-test.ethers.ts';
import { roundRobin } from '../../../shared/testing/round-robin.ts';
import { NOBODY, SendsUnderTest, type Sender } from '../../account/testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const SECONDS = isFullSize ? 60 : 10;
const A_SECOND = 50;
const SENDERS = 10;
const ATTACKERS = 10;
const SEND_EVERY_MS = 200;
/** Hashes 100 KB until 60,000 gas are left: it does something else with each limit of gas. */
const BURNS_ALL = '0x5b620186a06000205061ea605a11600057';

describe('estimates that take all gas that they may', () => {
  let sends: SendsUnderTest;
  let senders: Sender[];
  let attackers: { rpc: RpcUnderTest; account: OwnedAccount }[];
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { executors: 2, settings: { RATE_LIMITS: '{}' } });
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
  }, 120_000);
  afterAll(() => sends.stop());

  /** Sends at a steady pace. @returns the 99th percentile of how long each took to be answered, in milliseconds */
  const slowestSends = async (seconds: number): Promise<number> => {
    const times = await Promise.all(
      Array.from({ length: (seconds * 1_000) / SEND_EVERY_MS }, async (_, at) => {
        await pause(at * SEND_EVERY_MS);
        const from = performance.now();
        const { status, body } = await sends.send(roundRobin(senders, at));
        expect([status, body['code']]).toEqual([201, undefined]);
        return performance.now() - from;
      }),
    );
    return times.sort((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? 0;
  };
  const hostileEstimate = async (at: number): Promise<number> => {
    const { rpc, account } = roundRobin(attackers, at);
    const operation = rpc.form(
      rpc.operation(account, { callData: executeCall({ to: NOBODY, value: 0n, data: '0x' }) }),
    );
    const params = [operation, sends.prepared.entryPoint, { [NOBODY]: { code: BURNS_ALL } }];
    const request = { jsonrpc: '2.0', id: at, method: 'eth_estimateUserOperationGas', params };
    return (await call(rpc.url, { method: 'POST', body: request, headers: rpc.bearer })).status;
  };

  it(
    'slow sends down by no more than twice, and are refused once a caller has used up the minute, at full size',
    async () => {
      await slowestSends(5);
      const without = await slowestSends(SECONDS);
      const attack = Promise.all(
        Array.from({ length: SECONDS * A_SECOND }, async (_, at) => {
          await pause((at * 1_000) / A_SECOND);
          return hostileEstimate(at);
        }),
      );
      const under = await slowestSends(SECONDS);
      const statuses = await attack;
      const count = (status: number) => statuses.filter((one) => one === status).length;
      process.stdout.write(
        `p99 of sends ${without.toFixed(0)} ms, under ${String(A_SECOND)} hostile estimates a second ${under.toFixed(0)} ms; ` +
          `estimates: ${String(count(200))} answered, ${String(count(429))} refused, ${String(count(503))} too late\n`,
      );
      expect(count(200) + count(429) + count(503)).toBe(statuses.length);
      if (!isFullSize) return;
      expect(count(429)).toBeGreaterThan(0);
      expect(under).toBeLessThan(2 * without);
    },
    (3 * SECONDS + 60) * 1_000,
  );
});
