import type { it } from '@jest/globals';
import type { Hardfork } from '../../chain/hardforks.ts';
import { Anvil } from './anvil.ts';
import { Geth } from './geth/geth.ethers.ts';
import type { TestChain } from './test-chain.ts';

/**
 * Skips a test on a real geth that writes code or storage, or lowers a balance, by methods of anvil. On geth only
 * transactions change the state.
 */
export const onAnvil = (test: typeof it): typeof it.skip => (process.env['GETH'] ? test.skip : test);

/**
 * @param folder one for each chain
 * @param hardfork default: that of `HARDFORK`, else the newest
 */
export type StartChain = (folder: string, hardfork?: Hardfork) => Promise<TestChain>;

/** Starts anvil, whose state a test may write. */
export const startAnvil: StartChain = (folder, hardfork) => Anvil.start(folder, Anvil.chainId, hardfork);

/** Starts the geth that `GETH` names, else anvil. */
export const startTestChain: StartChain = (folder, hardfork = Anvil.hardfork) => {
  const binary = process.env['GETH'];
  return binary ? Geth.start({ binary, folder, chainId: Anvil.chainId, hardfork }) : startAnvil(folder, hardfork);
};
