import type { ChainSettings } from '../../config/chain-settings.ts';
import { ChainClient } from './chain-client.ts';

/** A chain of the settings, with the one client that its process has of it. */
export interface OpenedChain {
  settings: ChainSettings;
  client: ChainClient;
}

/** Opens a client of each chain, which the caller closes. Nothing is asked yet. */
export const openChains = (chains: readonly ChainSettings[] = []): readonly OpenedChain[] =>
  chains.map((settings) => ({ settings, client: new ChainClient(settings.chainId, settings.rpcUrls) }));
