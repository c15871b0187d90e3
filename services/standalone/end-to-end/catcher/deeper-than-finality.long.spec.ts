import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { CatcherCaller, transferOf } from './catcher-caller.ts';
import { ProgramOnChain } from '../program-on-chain.ts';
import { ProviderGateway } from '../../../../shared/testing/chain/provider-gateway.ts';

const folder = temporaryFolder();
const TOKEN = '0x00000000000000000000000000000000000A11CE';
const OTHER_CHAIN = 2485;
/** anvil's finalized block is twelve deep. */
const BLOCKS = 40;
const DEEPER = 30;
const READY_WITHIN_MS = 5_000;
const ALARM = /chain 2484.* that was final: check its RPC endpoints/;

describe('a reorganisation that is deeper than the finalized block', () => {
  let anvil: Anvil;
  let before: Anvil;
  let other: Anvil;
  let provider: ProviderGateway;
  let ours: ProgramOnChain<RunningProgram>;
  let caller: CatcherCaller;

  beforeAll(async () => {
    [anvil, before, other] = await Promise.all([
      Anvil.start(join(folder, 'chain')),
      Anvil.start(join(folder, 'before')),
      Anvil.start(join(folder, 'other'), OTHER_CHAIN),
    ]);
    await mine(anvil, 1, BLOCKS);
    await other.mine([transferOf(TOKEN, 1)]);
    provider = await ProviderGateway.start(anvil.rpcUrl, 'here');
    const chain = { rpcUrls: [provider.url] };
    const otherChains = [{ chainId: OTHER_CHAIN, rpcUrls: [other.rpcUrl] }];
    const start = (dataFolder: string, settings: Record<string, string>) => RunningProgram.start(dataFolder, settings);
    ours = await ProgramOnChain.start({ folder, start, anvil, chain, otherChains });
    caller = await CatcherCaller.signIn(ours.program.development);
    for (const one of [caller, caller.on(OTHER_CHAIN)]) expect((await one.register(TOKEN)).status).toBe(201);
  });
  afterAll(async () => {
    await ours.stop();
    await Promise.all([before.stop(), other.stop(), provider.stop()]);
  });

  const mine = async (chain: Anvil, first: number, last: number): Promise<void> => {
    for (let value = first; value <= last; value += 1) await chain.mine([transferOf(TOKEN, value)]);
  };

  const eventuallyReady = () =>
    eventually(
      async () => {
        const { status, body } = await caller.get('/health/ready');
        if (status === 200) return true;
        throw new Error(JSON.stringify(body));
      },
      READY_WITHIN_MS,
      'the process must be ready',
    );

  it('pauses the chain with an alarm, while others are followed and the process stays ready', async () => {
    await caller.eventuallyAsOn(anvil, TOKEN);
    await caller.eventually(TOKEN, ({ state }) => state === 'live', 'it must be live');
    await before.call('anvil_loadState', await anvil.call('anvil_dumpState', true));
    const records = await caller.events(TOKEN);
    await anvil.rollBack(DEEPER);
    // The same number of blocks, so the finalized block has the number of the one before.
    await mine(anvil, 1_001, 1_000 + DEEPER);
    await caller.eventually(
      TOKEN,
      ({ state, lastError }) => state === 'failed' && ALARM.test(lastError ?? ''),
      'the alarm must be told',
    );
    await mine(other, 2, 5);
    await caller.on(OTHER_CHAIN).eventuallyAsOn(other, TOKEN);
    expect(await caller.on(OTHER_CHAIN).status(TOKEN)).toMatchObject({ state: 'live', lastError: null });
    await eventuallyReady();
    expect(await caller.events(TOKEN)).toEqual(records);
    expect(ours.program.output).toMatch(ALARM);
  });

  it('is paused after a restart too, and goes on by itself once a provider has the final block again', async () => {
    await ours.program.kill();
    ours.program = await ours.program.restart();
    await caller.eventually(
      TOKEN,
      ({ state, lastError }) => state === 'failed' && ALARM.test(lastError ?? ''),
      'the alarm must be told',
    );
    await mine(other, 6, 7);
    await caller.on(OTHER_CHAIN).eventuallyAsOn(other, TOKEN);
    await eventuallyReady();
    await mine(before, BLOCKS + 1, BLOCKS + 5);
    provider.nodeUrl = before.rpcUrl;
    await caller.eventuallyAsOn(before, TOKEN);
    expect(await caller.status(TOKEN)).toMatchObject({ state: 'live', lastError: null, eventsTotal: BLOCKS + 5 });
    expect(await caller.events(TOKEN, '&status=reverted')).toEqual([]);
  });

  it('goes on with what the chain says now once the operator accepts that, and what is gone is reverted', async () => {
    const gone = BLOCKS + 5 - (BLOCKS - DEEPER);
    provider.nodeUrl = anvil.rpcUrl;
    await mine(anvil, 2_001, 2_010);
    await caller.eventually(
      TOKEN,
      ({ state, lastError }) => state === 'failed' && lastError?.includes('annals chain accept --chain 2484') === true,
      'the command must be named',
    );
    const accept = (...from: string[]) => ours.annals('chain', 'accept', '--chain', '2484', ...from);
    await expect(accept()).rejects.toThrow('say with --from from which block on');
    const first = (await caller.events(TOKEN))[BLOCKS - DEEPER]?.BlockNumber;
    await accept('--from', String(first));
    await caller.eventuallyAsOn(anvil, TOKEN);
    await caller.eventually(TOKEN, ({ state, lastError }) => state === 'live' && lastError === null, 'it must be live');
    expect(await caller.events(TOKEN, '&status=reverted')).toHaveLength(gone);
    await mine(anvil, 3_001, 3_003);
    await caller.eventuallyAsOn(anvil, TOKEN);
  });
});
