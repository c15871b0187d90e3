import { JsonRpcLatestState } from '../../shared/chain/latest-state.json-rpc.ts';
import type { LatestState } from '../../shared/chain/latest-state.ts';
import type { ChainSettings } from '../../shared/config/settings.ts';

/** A request waits for one of these answers: there is time for a second endpoint. */
const ANSWERS_WITHIN_MS = 2_000;

/** By chain id. */
export const openLatestStates = (chains: readonly ChainSettings[] = []): ReadonlyMap<number, LatestState> =>
  new Map(
    chains.map(({ chainId, rpcUrls }) => [
      chainId,
      new JsonRpcLatestState(chainId, rpcUrls, { withinMs: ANSWERS_WITHIN_MS }),
    ]),
  );
