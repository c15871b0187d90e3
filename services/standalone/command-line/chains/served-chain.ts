import { chainSettings, type ChainSettings, type Settings } from '../../../shared/config/settings.ts';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { readDevelopmentChain } from '../development-file.ts';

/** Returns the settings of a chain that is served here. @throws CannotStart that names those which are */
export const servedChain = (chainId: number, settings: Settings): ChainSettings => {
  const chains = chainsOf(settings);
  const chain = chains.find((one) => one.chainId === chainId);
  if (chain) return chain;
  const known = chains.map((one) => String(one.chainId)).join(', ') || 'none';
  throw new CannotStart(`CHAINS does not name chain ${String(chainId)}: it names ${known}`);
};

/** Beside a development start it is the local chain. */
const chainsOf = ({ CHAINS, DATA_DIR }: Settings): readonly ChainSettings[] => {
  if (CHAINS) return CHAINS;
  const local = readDevelopmentChain(DATA_DIR);
  return local ? [chainSettings.parse({ chainId: local.chainId, rpcUrls: [local.rpcUrl] })] : [];
};
