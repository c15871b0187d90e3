import { CannotStart } from '../errors/cannot-start.ts';
import { askChainId } from './header-requests.ts';
import { JsonRpcEndpoint } from './json-rpc-endpoint.ts';

const ANSWERS_WITHIN_MS = 3_000;

/**
 * Asks each endpoint which chain it serves, all at once. One that does not answer may do so later, and is not used before it
 * says that it is of this chain. @throws CannotStart if one serves another chain, naming the setting
 */
export const requireServedChains = async (
  chains: readonly { chainId: number; rpcUrls: readonly string[] }[] = [],
): Promise<void> => {
  const asked = chains.flatMap(({ chainId, rpcUrls }, at) =>
    rpcUrls.map(async (url, index) => {
      const served = await servedBy(url);
      if (served === undefined || served === chainId) return;
      const place = `CHAINS[${String(at)}]`;
      throw new CannotStart(
        `${place}.rpcUrls[${String(index)}] serves chain ${String(served)}, and ${place}.chainId is ${String(chainId)}: correct one of them`,
      );
    }),
  );
  await Promise.all(asked);
};

/** Returns nothing of an endpoint that does not answer, or answers something else. */
const servedBy = async (url: string): Promise<number | undefined> => {
  const endpoint = new JsonRpcEndpoint(url, ANSWERS_WITHIN_MS, new AbortController().signal);
  const served = Number((await askChainId(endpoint).catch(() => undefined)) ?? Number.NaN);
  return Number.isSafeInteger(served) ? served : undefined;
};
