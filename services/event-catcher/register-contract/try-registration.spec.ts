import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RegisteredContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { BlocksRefused, ChainUnavailable, RangeTooLarge } from '../../../shared/chain/chain-reader.ts';
import { HEAD, registration, TOKEN } from '../testing/routes/catcher-fixtures.ts';
import { codeOf, problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { inSimulatedTime } from '../../../shared/testing/simulation/simulated-globals.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';
import { transferWatch } from '../testing/example-watches.ts';
import { overriding } from '../testing/overriding.ts';
import { ChunkSize } from '../domain/backfill/chunk-size.ts';
import { estimateBackfill, findMissing, sampleLogs } from './sample-logs.ts';

const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const SOMEBODY = '0x00000000000000000000000000000000000A11cE';
const word = (digits: string): string => `0x${digits.padStart(64, '0')}`;
const aTransfer = (value: number) => ({
  address: TOKEN.toLowerCase(),
  topics: [TRANSFER_TOPIC, word('a11ce'), word('a11ce')],
  data: word(value.toString(16)),
});

describe('a registration that is tried out', () => {
  let catcher: CatcherRoutes;
  beforeEach(async () => {
    catcher = await startCatcherRoutes({ QUOTAS: JSON.stringify({ userWatches: 1, appWatches: 1 }) });
  });
  afterEach(() => catcher.service.close());

  const attempt = (changes: object = {}, more: Record<string, string> = {}): Promise<Response> =>
    catcher.post('/api/v1/contracts?dryRun=true', registration(changes), { headers: more });
  const tried = async (changes: object = {}): Promise<RegisteredContract> => {
    const answer = await attempt(changes);
    expect([answer.status, answer.headers.get('x-position')]).toEqual([200, expect.any(String)]);
    return (await answer.json()) as RegisteredContract;
  };

  it('answers what would be registered, stores nothing, and counts for no quota', async () => {
    const contract = await tried();
    await tried({ contractAddress: SOMEBODY });
    expect(await catcher.foundation.eventStore.head()).toBe(0);
    const answer = await catcher.register();
    expect(answer.status).toBe(201);
    const { sample: _sample, estimate: _estimate, ...registered } = contract;
    expect(await answer.json()).toEqual(registered);
    const head = await catcher.foundation.eventStore.head();
    expect(await codeOf(attempt({ contractAddress: SOMEBODY }))).toBe('quota_exceeded');
    expect((await tried()).id).toBe(contract.id);
    expect(await catcher.foundation.eventStore.head()).toBe(head);
  });

  it('has some of the newest logs, decoded, and says what reading all would take', async () => {
    for (let value = 1; value <= 20; value += 1) catcher.chain.mine(value === 20 ? [] : [aTransfer(value)]);
    const { sample = [], estimate } = await tried();
    expect(sample.map(({ Data }) => Number(Data['value']))).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    expect(sample[9]).toEqual({
      Id: expect.stringMatching(/^2484:0x[0-9a-f]{64}:0x[0-9a-f]{64}:0$/),
      BlockNumber: HEAD + 19,
      BlockHash: expect.any(String),
      TxHash: expect.any(String),
      TxIndex: 0,
      LogIndex: 0,
      Data: { from: SOMEBODY, to: SOMEBODY, value: '19' },
    });
    expect(estimate).toEqual({ blocks: HEAD + 20 - 10 + 1, records: 19, calls: 1, seconds: expect.any(Number) });
  });

  it('says beforehand which blocks no provider has, and samples the others', async () => {
    catcher.chain.mine([aTransfer(1)]);
    const reason = 'provider 1: pruned history unavailable';
    for (const first of [30, HEAD + 2]) {
      catcher.chain.logsFailure = (from) =>
        from < first ? new BlocksRefused(reason, { reason, isPrunedEverywhere: true }) : undefined;
      const { gaps, sample, estimate } = await tried();
      expect(gaps).toEqual([{ fromBlock: 10, toBlock: first - 1, reason }]);
      expect(sample).toHaveLength(first === 30 ? 1 : 0);
      expect(estimate).toMatchObject({ blocks: HEAD + 2 - first });
    }
    catcher.chain.logsFailure = undefined;
    expect(await tried()).not.toHaveProperty('gaps');
  });

  it('estimates what is not read yet of an event that is registered', async () => {
    await catcher.register({ startBlock: 20 });
    expect((await tried({ startBlock: 20 })).estimate).toMatchObject({ blocks: 0, records: 0, calls: 0 });
    expect(await tried({ startBlock: 5 })).toMatchObject({ startBlock: 5, estimate: { blocks: 15, calls: 1 } });
    await catcher.documents.project();
    expect(await (await catcher.ask('/api/v1/contracts')).json()).toMatchObject({ items: [{ startBlock: 20 }] });
  });

  it('is no registration for a request that is repeated with the same key', async () => {
    const key = { 'idempotency-key': 'key-1' };
    const first = await (await attempt({}, key)).json();
    expect(await (await attempt({}, key)).json()).toEqual(first);
    const registering = catcher.post('/api/v1/contracts', registration(), { headers: key });
    expect(await codeOf(registering)).toBe('idempotency_key_reused');
  });

  it.each([
    ['start_block_in_future', { startBlock: HEAD + 1 }],
    ['chain_not_supported', { chainId: 1 }],
    ['event_abi_mismatch', { eventAbi: '[]' }],
  ])('is refused as a registration is: %s', async (code, changes) => {
    expect(await codeOf(attempt(changes))).toBe(code);
  });

  it('is refused while the chain does not answer', async () => {
    catcher.chain.failure = new ChainUnavailable('no provider');
    expect(await problemOfAnswer(await attempt())).toMatchObject({ code: 'dependency_unavailable', retryAfter: 1 });
  });
});

describe('the sample of an event', () => {
  let catcher: CatcherRoutes;
  beforeEach(async () => {
    catcher = await startCatcherRoutes();
    for (let block = HEAD; block < 2_000; block += 1) catcher.chain.mine(block % 500 === 0 ? [aTransfer(block)] : []);
  });
  afterEach(() => catcher.service.close());

  const transfer = { ...transferWatch, contractAddress: TOKEN, userId: null };
  const within = (withinMs: number, from = 0) => ({ from, to: 2_000, withinMs });
  const refusing = (blocksMax: number) =>
    overriding(catcher.chain, {
      logsOfRange: (from, to, filter) =>
        to - from < blocksMax
          ? catcher.chain.logsOfRange(from, to, filter)
          : Promise.reject(new RangeTooLarge(`at most ${String(blocksMax)} blocks`, { blocks: blocksMax })),
    });

  it('is said to be missing as far as that is found out in time', () =>
    inSimulatedTime(async () => {
      const refused = new BlocksRefused('pruned', { reason: 'pruned', isPrunedEverywhere: true });
      const asked: number[] = [];
      const slow = overriding(catcher.chain, {
        logsOfRange: (from) => {
          asked.push(from);
          return asked.length > 5 ? new Promise<never>(() => undefined) : Promise.reject(refused);
        },
      });
      const missing = await findMissing(slow, transfer, within(200));
      expect(missing).toEqual({ fromBlock: 0, toBlock: 15, reason: 'pruned' });
      expect(asked).toEqual([0, 1, 3, 7, 15, 31]);
    }));

  it('is looked for in ever more blocks, up to the start block, in five calls at most', () =>
    inSimulatedTime(async () => {
      const reading = await sampleLogs(catcher.chain, transfer, within(5_000));
      expect(catcher.chain.ranges).toEqual([
        [1_951, 2_000],
        [1_451, 1_950],
        [0, 1_450],
      ]);
      expect(reading).toMatchObject({ blocks: 2_001, records: 3, calls: 3 });
      catcher.chain.ranges.length = 0;
      await sampleLogs(catcher.chain, { ...transfer, topic0: `0x${'1'.repeat(64)}` }, within(5_000, 1_990));
      expect(catcher.chain.ranges).toEqual([[1_990, 2_000]]);
    }));

  it('takes as many blocks at a time as a provider answers, and no more calls for that', () =>
    inSimulatedTime(async () => {
      const reading = await sampleLogs(refusing(20), transfer, within(5_000));
      expect(catcher.chain.ranges).toHaveLength(4);
      expect(reading).toMatchObject({ blocks: 80, calls: 4 });
      expect(estimateBackfill(reading, 2_001).calls).toBeGreaterThan(50);
    }));

  it('has the logs of an anonymous event by their layout', () =>
    inSimulatedTime(async () => {
      const anonymous = { address: TOKEN.toLowerCase(), topics: [], data: word('7') };
      for (const log of [anonymous, { ...anonymous, data: `${word('7')}00` }, aTransfer(1)]) catcher.chain.mine([log]);
      const inputs = [{ name: 'value', type: 'uint256' }];
      const event = { ...transfer, topic0: null, fragment: { name: 'Noted', anonymous: true, inputs } };
      const { logs, records } = await sampleLogs(catcher.chain, event, { from: 1_990, to: 2_003, withinMs: 5_000 });
      expect([logs.map(({ blockNumber }) => blockNumber), records]).toEqual([[2_001], 1]);
    }));

  it('is what was found when the chain answers no more, and refused where it answered nothing', () =>
    inSimulatedTime(async () => {
      let calls = 0;
      const silent = overriding(catcher.chain, {
        logsOfRange: (...asked) =>
          (calls += 1) === 1 ? catcher.chain.logsOfRange(...asked) : new Promise<never>(() => undefined),
      });
      expect(await sampleLogs(silent, transfer, within(50))).toMatchObject({ calls: 1, blocks: 50 });
      await expect(sampleLogs(silent, transfer, within(50))).rejects.toMatchObject({ code: 'dependency_unavailable' });
      await expect(sampleLogs(refusing(0), transfer, within(50))).rejects.toMatchObject({
        code: 'dependency_unavailable',
      });
    }));

  it('estimates a backfill of millions of blocks at once, however few are taken at a time', () => {
    const reading = { logs: [], calls: 1, tookMs: 100 };
    const millions = 5_000_000;
    const few = { blocks: 1, records: 100_000, size: sizeAfter(1, 100_000) };
    expect(estimateBackfill({ ...reading, ...few }, millions)).toMatchObject({ blocks: millions, calls: millions });
    const empty = { blocks: 50, records: 0, size: sizeAfter(50, 0) };
    expect(estimateBackfill({ ...reading, ...empty }, millions)).toEqual({
      blocks: millions,
      records: 0,
      calls: 53,
      seconds: 6,
    });
  });
});

const sizeAfter = (blocks: number, events: number): ChunkSize => {
  const size = new ChunkSize();
  size.answered({ blocks, events });
  return size;
};
