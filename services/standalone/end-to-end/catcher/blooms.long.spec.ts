import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { CatcherCaller, transferOf } from './catcher-caller.ts';
import { ProgramOnChain } from '../program-on-chain.ts';
import { changing, ProviderGateway } from '../../../../shared/testing/chain/provider-gateway.ts';

const folder = temporaryFolder();
const TOKEN = '0x00000000000000000000000000000000000A11CE';
const BLOOM_OF_NOTHING = `0x${'0'.repeat(512)}`;
/** Enough to make a block final. */
const FINAL_AFTER = 16;
/** Chain id of the same chain, configured without a word about its blooms. */
const UNSAID = 2485;
const WARNING = 'a log is not in the bloom of its block: the blooms of this chain are used no more';

describe('logs that the blooms of their headers leave out', () => {
  let anvil: Anvil;
  let providers: ProviderGateway[];
  let ours: ProgramOnChain<RunningProgram>;
  let said: CatcherCaller;
  let unsaid: CatcherCaller;
  let transfers = 0;

  beforeAll(async () => {
    anvil = await Anvil.start(join(folder, 'chain'));
    await anvil.call('anvil_mine', '0x20');
    const start = (dataFolder: string, settings: Record<string, string>) => RunningProgram.start(dataFolder, settings);
    const chains = [Anvil.chainId, UNSAID];
    providers = await Promise.all(chains.map(() => ProviderGateway.start(anvil.rpcUrl, 'here')));
    for (const [at, provider] of providers.entries()) provider.answer = withoutBlooms(chains[at]);
    const [first, second] = providers.map(({ url }) => [url]);
    const chain = { rpcUrls: first ?? [], bloom: false };
    const otherChains = [{ chainId: UNSAID, rpcUrls: second ?? [] }];
    ours = await ProgramOnChain.start({ folder, start, anvil, chain, otherChains });
    said = await CatcherCaller.signIn(ours.program.development);
    unsaid = said.on(UNSAID);
    for (const caller of [said, unsaid]) {
      expect((await caller.register(TOKEN)).status).toBe(201);
      await caller.eventually(TOKEN, ({ state }) => state === 'live', 'it must be live');
    }
  });
  afterAll(async () => {
    await ours.stop();
    await Promise.all(providers.map((provider) => provider.stop()));
  });

  /** As on Polygon for a block with nothing but state syncs, which use no gas. */
  const withoutBlooms = (chainId = 0): ProviderGateway['answer'] =>
    changing(({ method }, result) => {
      if (method === 'eth_chainId') return `0x${chainId.toString(16)}`;
      const isHeader = typeof result === 'object' && result !== null && 'logsBloom' in result;
      return isHeader ? { ...result, logsBloom: BLOOM_OF_NOTHING, gasUsed: '0x0' } : result;
    });
  const transfer = (): Promise<void> => anvil.mine([transferOf(TOKEN, (transfers += 1))]);
  const headIsRead = async (caller: CatcherCaller): Promise<void> => {
    const head = Number(await anvil.call('eth_blockNumber'));
    await caller.eventually(TOKEN, ({ currentBlockNumber }) => currentBlockNumber === head, 'the head must be read');
  };
  const found = async (caller: CatcherCaller) =>
    (await caller.events(TOKEN)).map(({ Data, Origin }) => [Data['value'], Origin]);

  it('are found at the head where `CHAINS` says so', async () => {
    await transfer();
    await Promise.all([headIsRead(said), headIsRead(unsaid)]);
    expect(await found(said)).toEqual([['1', 'live']]);
    expect(await found(unsaid)).toEqual([]);
    expect(ours.program.output).not.toContain(WARNING);
  });

  it('end the use of blooms with a warning where it does not, and are all found', async () => {
    await transfer();
    await anvil.call('anvil_mine', `0x${FINAL_AFTER.toString(16)}`);
    await unsaid.eventuallyAsOn(anvil, TOKEN);
    expect(await found(unsaid)).toEqual([
      ['1', 'replay'],
      ['2', 'replay'],
    ]);
    const warnings = ours.program.output.split('\n').filter((line) => line.includes(WARNING));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(String(UNSAID));
    await transfer();
    await Promise.all([headIsRead(said), headIsRead(unsaid)]);
    expect((await found(said)).at(-1)).toEqual(['3', 'live']);
    expect((await found(unsaid)).at(-1)).toEqual(['3', 'live']);
  });
});
