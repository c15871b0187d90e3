import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { CatcherCaller, transferOf } from './catcher-caller.ts';
import { ProgramOnChain } from '../program-on-chain.ts';
import { ProviderGateway, requestsIn } from '../../../../shared/testing/chain/provider-gateway.ts';

const folder = temporaryFolder();
/** Providers are compared every 15 s, and one that failed is in quarantine for 30 s. */
const HAPPENS_WITHIN_MS = 90_000;
const TOKEN = '0x00000000000000000000000000000000000A11CE';
const OTHER_CHAIN = 4242;
const BLOCKS = 40;
const SLOW_MS = 100;
const BEHIND_BLOCKS = 3;
const BEHIND_SECONDS = 60;

describe('several providers of a chain', () => {
  let anvil: Anvil;
  let behind: Anvil;
  let elsewhere: Anvil;
  let first: ProviderGateway;
  let second: ProviderGateway;
  let ours: ProgramOnChain<RunningProgram>;
  let caller: CatcherCaller;
  let transfers = 0;

  beforeAll(async () => {
    [anvil, behind, elsewhere] = await Promise.all([
      Anvil.start(join(folder, 'chain')),
      Anvil.start(join(folder, 'behind')),
      Anvil.start(join(folder, 'elsewhere'), OTHER_CHAIN),
    ]);
    await elsewhere.call('anvil_mine', '0x400');
    await anvil.call('anvil_mine', `0x${BLOCKS.toString(16)}`);
    [first, second] = await Promise.all([ProviderGateway.start(anvil.rpcUrl), ProviderGateway.start(anvil.rpcUrl)]);
    second.answer = slowly;
    const wsUrls = [anvil.rpcUrl.replace('http', 'ws')];
    const start = (dataFolder: string, settings: Record<string, string>) => RunningProgram.start(dataFolder, settings);
    ours = await ProgramOnChain.start({ folder, start, anvil, chain: { rpcUrls: [first.url, second.url], wsUrls } });
    caller = await CatcherCaller.signIn(ours.program.development);
    expect((await caller.register(TOKEN)).status).toBe(201);
    await caller.eventually(TOKEN, ({ state }) => state === 'live', 'it must be live');
  });
  afterAll(async () => {
    await ours.stop();
    await Promise.all([behind.stop(), elsewhere.stop(), first.stop(), second.stop()]);
  });

  const transfer = async (blocks: number): Promise<void> => {
    for (let block = 0; block < blocks; block += 1) await anvil.mine([transferOf(TOKEN, (transfers += 1))]);
    await caller.eventuallyAsOn(anvil, TOKEN);
  };
  const honestly: ProviderGateway['answer'] = (_body, honest) => honest();
  /** Slower than the first provider, so that the first is preferred. */
  const slowly: ProviderGateway['answer'] = async (_body, honest) => {
    await pause(SLOW_MS);
    return honest();
  };
  /** Ignores reads of final blocks, which are ranges, and sent to two providers in any case. */
  const isAskedForLogs = ({ asked }: ProviderGateway): boolean => asked.some((body) => body.includes('"blockHash"'));
  /** Mines blocks until the first provider is asked for the logs of a block, or until it no longer is. */
  const untilFirstIsAsked = (forLogs: boolean): Promise<unknown> =>
    eventually(
      async () => {
        first.asked.length = 0;
        await transfer(1);
        return isAskedForLogs(first) === forLogs;
      },
      HAPPENS_WITHIN_MS,
      `it must ${forLogs ? '' : 'not '}be asked for logs`,
    );

  it('stand in for one that fails, which is asked again when it answers', async () => {
    await untilFirstIsAsked(true);
    first.answer = () => Promise.reject(new Error('down'));
    await transfer(1);
    first.asked.length = 0;
    await transfer(4);
    expect(isAskedForLogs(first)).toBe(false);
    expect(await caller.status(TOKEN)).toMatchObject({ state: 'live', lastError: null });
    first.answer = honestly;
    await untilFirstIsAsked(true);
  });

  it('stand in for one that is behind, which is not asked for what it does not have', async () => {
    await behind.call('anvil_loadState', await anvil.call('anvil_dumpState', true));
    first.nodeUrl = behind.rpcUrl;
    await anvil.call('evm_increaseTime', BEHIND_SECONDS);
    await transfer(BEHIND_BLOCKS);
    await untilFirstIsAsked(false);
    first.asked.length = 0;
    await transfer(BEHIND_BLOCKS);
    expect(isAskedForLogs(first)).toBe(false);
    first.nodeUrl = anvil.rpcUrl;
    await untilFirstIsAsked(true);
  });

  it('stand in for one that serves another chain by now, which is set aside', async () => {
    first.nodeUrl = elsewhere.rpcUrl;
    first.asked.length = 0;
    const faults = new Set<string>();
    for (let block = 0; block < 4; block += 1) {
      await transfer(1);
      const { lastError } = await caller.status(TOKEN);
      if (lastError !== null) faults.add(lastError);
    }
    expect(first.asked.some((body) => body.includes('eth_chainId'))).toBe(true);
    expect([isAskedForLogs(first), ...faults]).toEqual([false]);
    first.nodeUrl = anvil.rpcUrl;
  });

  it('are named by their places, whatever their errors say', async () => {
    for (const provider of [first, second]) {
      const { host, hostname } = new URL(provider.url);
      const message = `upstream of ${provider.url}/v2 (${hostname}, ${host}) is gone`;
      provider.answer = (body) => {
        const answers = requestsIn(body).map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32_000, message } }));
        return Promise.resolve(JSON.stringify(answers.length === 1 ? answers[0] : answers));
      };
    }
    const { lastError } = await caller.eventually(TOKEN, ({ state }) => state === 'failed', 'the outage must be told');
    for (const name of ['provider 1: ', 'provider 2: ']) expect(lastError).toContain(`${name}upstream of <url>`);
    expect(lastError).not.toContain('127.0.0');
    for (const provider of [first, second]) provider.answer = honestly;
    await caller.eventually(TOKEN, ({ state }) => state === 'live', 'it must go on');
    await transfer(1);
  });
});
