import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { WatchStatus } from '../../../../schemas/http/event-catcher/watched-contract.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { callUntilServed, signIn, type SignedIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProcess } from '../../../../shared/testing/processes/running-process.ts';
import { RunningProcesses, type ServiceProcess } from '../../../../shared/testing/processes/running-processes.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { ProgramOnChain } from '../program-on-chain.ts';
import { ProviderGateway } from '../../../../shared/testing/chain/provider-gateway.ts';
import { registerTransfer } from '../register-transfer.ts';

const HAPPENS_WITHIN_MS = 120_000;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const SOMEBODY = `0x${'0'.repeat(24)}${'a1'.repeat(20)}`;
const TOKEN = '0x00000000000000000000000000000000000A11CE';
const SLOW = '0x0000000000000000000000000000000000051000';
const REFUSED = '0x0000000000000000000000000000000000052000';
const HISTORY = 4_000;
/** Distance between blocks with logs. */
const BLOCKS_APART = 100;
const MOST_BLOCKS = 50;
const ANSWERS_AFTER_MS = 250;
/** The last quarter of the slow backfill. */
const HELD_FROM = (HISTORY * 3) / 4;
const folder = temporaryFolder();

interface LogsAsked {
  id: number;
  method: string;
  params: [{ fromBlock?: string; toBlock?: string }];
}

describe('the status of a registered event, asked of an event catcher that follows its chain, and of another', () => {
  let provider: ProviderGateway;
  let ours: ProgramOnChain<RunningProcesses>;
  let catchers: ServiceProcess[];
  let caller: SignedIn;
  /** Slow answers are sent one after the other. */
  let slowAnswers: Promise<unknown> = Promise.resolve();
  /** Resolved once the rate of the slow backfill was seen. */
  const seen = Promise.withResolvers<undefined>();

  beforeAll(async () => {
    const anvil = await Anvil.start(join(folder, 'chain'));
    const log = (address: string) => ({ address, topics: [TRANSFER, SOMEBODY, SOMEBODY], data: SOMEBODY });
    for (let block = 0; block < HISTORY; block += BLOCKS_APART) {
      await anvil.mine([log(TOKEN), log(SLOW)]);
      await anvil.call('anvil_mine', `0x${BLOCKS_APART.toString(16)}`);
    }
    provider = await ProviderGateway.start(anvil.rpcUrl);
    provider.answer = answerSlowly;
    const start = (dataFolder: string, settings: Record<string, string>) =>
      RunningProcesses.start(dataFolder, settings);
    ours = await ProgramOnChain.start({
      folder,
      start,
      anvil,
      chain: { rpcUrls: [provider.url] },
    });
    catchers = [ours.program.service('event-catcher'), await ours.program.another('event-catcher', { EVENT_URL: '' })];
    caller = await signIn(ours.program.development);
  }, 240_000);
  afterAll(async () => {
    await ours.stop();
    await provider.stop();
  });

  /** Refuses requests for one contract, and is slow for another, which also needs many calls. */
  const answerSlowly: ProviderGateway['answer'] = async (body, honest) => {
    const asked = ([JSON.parse(body)] as unknown[]).flat() as LogsAsked[];
    const refuse = (message: string) =>
      JSON.stringify(asked.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32_000, message } })));
    if (asked.some(({ method }) => method.endsWith('Receipts') || method.endsWith('Receipt')))
      return refuse('receipts are not kept');
    const logs = asked.find(({ method }) => method === 'eth_getLogs');
    if (!logs) return honest();
    if (body.includes(REFUSED.toLowerCase())) return refuse('this contract is not indexed');
    if (!body.includes(SLOW.toLowerCase())) return honest();
    const [{ fromBlock, toBlock }] = logs.params;
    if (Number(toBlock) - Number(fromBlock) >= MOST_BLOCKS)
      return refuse(`block range is limited to ${String(MOST_BLOCKS)}`);
    slowAnswers = slowAnswers.then(() => pause(ANSWERS_AFTER_MS));
    await slowAnswers;
    // Until the rate was seen, the backfill must not end, however late a busy machine looks.
    if (Number(toBlock) > HELD_FROM) await seen.promise;
    return honest();
  };
  const register = async (contract: string): Promise<void> => {
    expect((await registerTransfer(ours.program.development, caller, contract)).status).toBe(201);
  };
  const statuses = (contract: string): Promise<WatchStatus[]> =>
    Promise.all(
      catchers.map(
        async ({ url }) =>
          (await callUntilServed(`${url}/api/v1/status/2484/${contract}/Transfer`)).body as unknown as WatchStatus,
      ),
    );
  const eventuallyBoth = (contract: string, said: (status: WatchStatus) => boolean, otherwise: string) =>
    eventually(
      async () => {
        const told = await statuses(contract);
        if (told.every(said)) return told;
        throw new Error(JSON.stringify(told));
      },
      HAPPENS_WITHIN_MS,
      otherwise,
    );

  const head = async (): Promise<number> => Number(await ours.anvil.call('eth_blockNumber'));
  /** Returns the metrics of a chain, by name; `undefined` for a metric that the process does not have. */
  const metricsOf = async ({ metricsUrl }: ServiceProcess) => {
    const text = await (await fetch(`${metricsUrl}/metrics`)).text();
    return (name: string, state?: string): number | undefined => {
      const labels = `chain_id="2484"${state === undefined ? '' : `,state="${state}"`}`;
      const line = text.split('\n').find((one) => one.startsWith(`annals_chain_${name}{${labels}} `));
      return line === undefined ? undefined : Number(line.split(' ')[1]);
    };
  };

  it('tells the same reason where one contract is refused, and others are caught', async () => {
    await register(REFUSED);
    await register(TOKEN);
    await eventuallyBoth(
      TOKEN,
      ({ state, eventsTotal }) => state === 'live' && eventsTotal === HISTORY / BLOCKS_APART,
      'it must be caught',
    );
    await eventuallyBoth(REFUSED, ({ state }) => state === 'failed', 'the refusal must be told');
    const [here, there] = await statuses(REFUSED);
    expect(here?.lastError).toMatch(/this contract is not indexed/);
    expect(here?.lastError).not.toContain('127.0.0.2');
    expect(there).toEqual({ ...here, lagSeconds: there?.lagSeconds });
    for (const status of await statuses(TOKEN)) expect(status).toMatchObject({ state: 'live', lastError: null });
  });

  it('tells how fast a backfill is, and how long it takes, on the command line until it is live', async () => {
    await register(SLOW);
    const [registered] = await statuses(SLOW);
    const following = ['services/standalone/annals.js', 'watch', 'status', registered?.id ?? '', '--follow'];
    await using process = RunningProcess.spawn('watch status', following, { DATA_DIR: ours.dataFolder });
    await eventuallyBoth(
      SLOW,
      ({ state, eventsPerSecond, etaSeconds }) =>
        state === 'backfilling' && eventsPerSecond > 0 && Number(etaSeconds) > 0,
      'both must tell the rate of a backfill, and the time that it takes',
    );
    await process.ready(/ {2}backfilling {2}.*, [1-9]\d* a second {2}[\d a-z]+ left\n/);
    seen.resolve(undefined);
    expect(await process.ended()).toBe(0);
    expect(process.output.trimEnd().split('\n').at(-1)).toMatch(/  live  100\.0 %, block /);
  });

  it('tells the same on the command line as over HTTP', async () => {
    const [over] = await statuses(REFUSED);
    const told = JSON.parse(await ours.annals('watch', 'status', over?.id ?? '', '--json')) as WatchStatus;
    expect(told).toEqual({ ...over, lagSeconds: told.lagSeconds });
    const listed = JSON.parse(await ours.annals('watch', 'list', '--json')) as WatchStatus[];
    expect(listed).toHaveLength(3);
    expect(listed.find(({ id }) => id === told.id)?.state).toBe('failed');
  });

  it('has metrics that say who follows the chain, and how far it is', async () => {
    provider.answer = (_body, honest) => honest();
    const metrics = () => Promise.all(catchers.map(metricsOf));
    for (const contract of [TOKEN, SLOW, REFUSED]) {
      await eventuallyBoth(contract, ({ state }) => state === 'live', 'all must be live');
    }
    const isTold = async () => (await metrics()).every((metric) => metric('verified_block') !== undefined);
    await eventually(isTold, HAPPENS_WITHIN_MS, 'the verification must begin');
    const told = await metrics();
    expect(told.map((metric) => metric('followed_here')).sort()).toEqual([0, 1]);
    const [follower, standby] = told.sort(
      (one, other) => Number(other('followed_here')) - Number(one('followed_here')),
    );
    for (const metric of told) {
      expect(metric('head_block')).toBe(await head());
      expect(metric('finalized_block')).toBeGreaterThan(0);
      expect(metric('verified_block')).toBeLessThanOrEqual(metric('finalized_block') ?? 0);
    }
    for (const state of ['reading', 'waiting']) {
      expect([follower?.('backfills', state), standby?.('backfills', state)]).toEqual([0, undefined]);
    }
  });

  it('tells why a chain is not followed, whoever fails to follow it', async () => {
    provider.answer = () => Promise.reject(new Error('down'));
    // Each process tries to follow the chain, and reports which of its own requests failed last.
    const told = await eventuallyBoth(
      TOKEN,
      ({ state, lastError }) => state === 'failed' && (lastError ?? '').includes(' of chain 2484: provider 1: '),
      'the outage must be told',
    );
    for (const { lastError } of told) expect(lastError).not.toContain('127.0.0.2');
    provider.answer = (_body, honest) => honest();
    await eventuallyBoth(
      TOKEN,
      ({ state, lastError }) => state === 'live' && lastError === null,
      'it must be live again',
    );
  });
});
