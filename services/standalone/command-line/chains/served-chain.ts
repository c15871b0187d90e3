import { chainSettings, type ChainSettings } from '../../../../shared/config/chain-settings.ts';
import { type Settings } from '../../../../shared/config/settings.ts';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import { readDevelopmentChain } from '../../development-file.ts';

/**
 * Returns the settings of a chain.
 * @throws CannotStart that names the chains in CHAINS, if this one is not among them
 */
export const servedChain = (chainId: number, settings: Settings): ChainSettings => {
  const chains = chainsOf(settings);
  const chain = chains.find((one) => one.chainId === chainId);
  if (chain) return chain;
  const known = chains.map((one) => String(one.chainId)).join(', ') || 'none';
  throw new CannotStart(`CHAINS does not name chain ${String(chainId)}: it names ${known}`);
};

/** Without CHAINS, returns the local chain of a development start. */
const chainsOf = ({ CHAINS, DATA_DIR }: Settings): readonly ChainSettings[] => {
  if (CHAINS) return CHAINS;
  const local = readDevelopmentChain(DATA_DIR);
  return local ? [chainSettings.parse({ chainId: local.chainId, rpcUrls: [local.rpcUrl] })] : [];
};
