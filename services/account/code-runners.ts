import { JsonRpcCodeRunner } from '../../shared/chain/code-runner.json-rpc.ts';
import type { CodeRunner } from '../../shared/chain/code-runner.ts';
import type { ChainSettings } from '../../shared/config/settings.ts';

/** A login waits for one of these answers: there is time for a second endpoint. */
const ANSWERS_WITHIN_MS = 2_000;

/** What asks contracts, by chain id. */
export const openCodeRunners = (chains: readonly ChainSettings[] = []): ReadonlyMap<number, CodeRunner> =>
  new Map(
    chains.map(({ chainId, rpcUrls }) => [
      chainId,
      new JsonRpcCodeRunner(chainId, rpcUrls, { withinMs: ANSWERS_WITHIN_MS }),
    ]),
  );
