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
 * Starts the geth that `GETH` names, else anvil.
 * @param folder one for each chain
 * @param hardfork default: that of `HARDFORK`, else the newest
 */
export const startTestChain = (folder: string, hardfork: Hardfork = Anvil.hardfork): Promise<TestChain> => {
  const binary = process.env['GETH'];
  const chainId = Anvil.chainId;
  return binary ? Geth.start({ binary, folder, chainId, hardfork }) : Anvil.start(folder, chainId, hardfork);
};
