import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../../schemas/json.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { callUntilServed, signIn, type SignedIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { ProgramOnChain } from '../program-on-chain.ts';
import { hiding, ProviderGateway } from '../../../../shared/testing/chain/provider-gateway.ts';
import { registerTransfer } from '../register-transfer.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 60_000;
const BLOCKS_APART_SECONDS = 60;
const TOKEN = '0x00000000000000000000000000000000000A11CE';
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const SOMEBODY = `0x${'0'.repeat(24)}${'a1'.repeat(20)}`;

describe('providers elsewhere', () => {
  let anvil: Anvil;
  let first: ProviderGateway;
  let second: ProviderGateway;
  let ours: ProgramOnChain<RunningProgram>;
  let caller: SignedIn;
  let transfers = 0;

  beforeAll(async () => {
    anvil = await Anvil.start(join(folder, 'chain'));
    await anvil.call('anvil_mine', '0x8', `0x${BLOCKS_APART_SECONDS.toString(16)}`);
    first = await ProviderGateway.start(anvil.rpcUrl);
    second = await ProviderGateway.start(anvil.rpcUrl);
    const wsUrls = ['ws://127.0.0.1:1', anvil.rpcUrl.replace('http', 'ws')];
    const chain = { rpcUrls: [first.url, second.url], wsUrls };
    const start = (dataFolder: string, settings: Record<string, string>) => RunningProgram.start(dataFolder, settings);
    ours = await ProgramOnChain.start({ folder, start, anvil, chain });
    caller = await signIn(ours.program.development);
    expect((await registerTransfer(ours.program.development, caller, TOKEN)).status).toBe(201);
  });
  beforeEach(() => {
    first.asked.length = 0;
  });
  afterAll(async () => {
    await ours.stop();
    await Promise.all([first.stop(), second.stop()]);
  });

  const transfer = async (): Promise<void> => {
    const data = `0x${(transfers += 1).toString(16).padStart(64, '0')}`;
    await anvil.call('evm_increaseTime', BLOCKS_APART_SECONDS);
    await anvil.mine([{ address: TOKEN, topics: [TRANSFER, SOMEBODY, SOMEBODY], data }]);
  };
  const get = async (path: string): Promise<JsonObject> =>
    (await callUntilServed(ours.program.development.eventUrl + path, { headers: caller.bearer })).body;
  const events = async (): Promise<unknown[]> =>
    (await get(`/api/v1/events?chainId=2484&contractAddress=${TOKEN}&eventSignature=Transfer`))['items'] as unknown[];
  const status = () => get(`/api/v1/status/2484/${TOKEN}/Transfer`);
  const caughtUp = () =>
    eventually(async () => (await events()).length === transfers, HAPPENS_WITHIN_MS, 'every transfer must be found');

  // That an announcement is acted on at once is shown by announced-polls.spec.ts.
  it('are asked no more often than blocks come', async () => {
    await eventually(async () => (await status())['state'] === 'live', HAPPENS_WITHIN_MS, 'it must be live');
    for (let block = 0; block < 3; block += 1) {
      await transfer();
      await caughtUp();
    }
    const heads = first.asked.filter((body) => body.includes('"latest"') && body.includes('eth_getBlockByNumber'));
    expect(heads.length).toBeLessThan(12);
  });

  it('stand in for one another, also for one that hides logs', async () => {
    first.answer = hiding('eth_getLogs');
    await transfer();
    await caughtUp();
    first.answer = () => Promise.reject(new Error('down'));
    await transfer();
    await caughtUp();
    expect(await status()).toMatchObject({ state: 'live', lastError: null, lagBlocks: 0 });
  });
});
