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
/** So many that no block becomes final which is reverted here. */
const CONFIRMATIONS = 40;
const DEPTHS = Array.from({ length: 32 }, (_, at) => at + 1);

/** A chain of which this many of the newest blocks are reorganised while the program is down. */
interface ReorganisedChain {
  depth: number;
  anvil: Anvil;
  provider: ProviderGateway;
}

describe('reorganisations of each depth from 1 to 32 that came while the program was down', () => {
  let chains: ReorganisedChain[];
  let ours: ProgramOnChain<RunningProgram>;
  let caller: CatcherCaller;

  beforeAll(async () => {
    chains = await Promise.all(
      DEPTHS.map(async (depth, at) => {
        const anvil = await Anvil.start(join(folder, `chain-${String(depth)}`), Anvil.chainId + at);
        await anvil.call('anvil_mine', `0x${(CONFIRMATIONS + 1).toString(16)}`);
        const provider = await ProviderGateway.start(anvil.rpcUrl, 'here');
        provider.answer = changing(({ params: [block] }, result) => (block === 'finalized' ? null : result));
        await transfer(anvil, depth);
        return { depth, anvil, provider };
      }),
    );
    const [chain, ...otherChains] = chains.map(({ anvil, provider }) => ({
      chainId: anvil.chainId,
      rpcUrls: [provider.url],
      confirmations: CONFIRMATIONS,
    }));
    const [first] = chains;
    if (!first || !chain) throw new Error('there must be a chain');
    const start = (dataFolder: string, settings: Record<string, string>) => RunningProgram.start(dataFolder, settings);
    ours = await ProgramOnChain.start({ folder, start, anvil: first.anvil, chain, otherChains });
    caller = await CatcherCaller.signIn(ours.program.development);
  });
  afterAll(async () => {
    await ours.stop();
    await Promise.all(chains.flatMap(({ anvil, provider }) => [anvil.stop(), provider.stop()]));
  });

  /** Mines this many blocks with a transfer each. */
  const transfer = async (anvil: Anvil, blocks: number): Promise<void> => {
    for (let block = 1; block <= blocks; block += 1) await anvil.mine([transferOf(TOKEN, block)]);
  };
  const onEach = (work: (chain: ReorganisedChain, caller: CatcherCaller) => Promise<unknown>): Promise<unknown> =>
    Promise.all(chains.map((chain) => work(chain, caller.on(chain.anvil.chainId))));

  it('are followed when it is there again', async () => {
    const before = new Map<number, string[]>();
    await onEach(async ({ anvil, depth }, on) => {
      expect((await on.register(TOKEN)).status).toBe(201);
      await on.eventuallyAsOn(anvil, TOKEN);
      before.set(depth, await on.idsOn(anvil, TOKEN));
    });
    await ours.program.kill();
    await onEach(async ({ anvil, depth }) => {
      await anvil.rollBack(depth);
      await transfer(anvil, depth + 1);
    });
    ours.program = await ours.program.restart();
    await onEach(async ({ anvil, depth }, on) => {
      await on.eventuallyAsOn(anvil, TOKEN);
      const reverted = (await on.events(TOKEN, '&status=reverted')).map(({ Id }) => Id);
      expect([depth, reverted]).toEqual([depth, before.get(depth)]);
      expect(await on.status(TOKEN)).toMatchObject({ eventsTotal: depth + 1, lastError: null });
    });
  });
});
