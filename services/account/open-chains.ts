import { openChains } from '../../shared/chain/client/opened-chains.ts';
import { LatestState, type LatestStates } from '../../shared/chain/state/latest-state.ts';
import type { ChainSettings } from '../../shared/config/chain-settings.ts';

/** Timeout of one endpoint: a request waits for the answer, and there must be time for a second endpoint. */
export const ANSWERS_WITHIN_MS = 2_000;

/** Opens the one client that this process has of each chain, for logins, erasures and operations alike. */
export const openAccountChains = (
  chains: readonly ChainSettings[] | undefined,
  answersWithinMs = ANSWERS_WITHIN_MS,
) => {
  const opened = openChains(chains);
  const latestStates: LatestStates = new Map(
    opened.map(({ settings: { chainId }, client }) => [chainId, new LatestState(client, answersWithinMs)]),
  );
  const close = () => {
    for (const { client } of opened) client.close();
  };
  return { opened, latestStates, close };
};
