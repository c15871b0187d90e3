import { CannotStart } from '../errors/cannot-start.ts';
import { askChainId } from './client/header-requests.ts';
import { JsonRpcEndpoint } from './client/endpoints/json-rpc-endpoint.ts';

const ANSWERS_WITHIN_MS = 3_000;

/**
 * Asks all endpoints concurrently which chain they serve. An endpoint without an answer is used only once it has
 * confirmed its chain.
 * @param answersWithinMs default: 3 s
 * @throws CannotStart if an endpoint serves another chain, naming the setting
 */
export const requireServedChains = async (
  chains: readonly { chainId: number; rpcUrls: readonly string[] }[] = [],
  answersWithinMs = ANSWERS_WITHIN_MS,
): Promise<void> => {
  const asked = chains.flatMap(({ chainId, rpcUrls }, at) =>
    rpcUrls.map(async (url, index) => {
      const served = await servedBy(url, answersWithinMs);
      if (served === undefined || served === chainId) return;
      const place = `CHAINS[${String(at)}]`;
      throw new CannotStart(
        `${place}.rpcUrls[${String(index)}] serves chain ${String(served)}, and ${place}.chainId is ${String(chainId)}: correct one of them`,
      );
    }),
  );
  await Promise.all(asked);
};

/** Returns `undefined` if the endpoint does not answer, or its answer is not a chain id. */
const servedBy = async (url: string, withinMs: number): Promise<number | undefined> => {
  const endpoint = new JsonRpcEndpoint(url, withinMs, new AbortController().signal);
  const served = Number((await askChainId(endpoint).catch(() => undefined)) ?? Number.NaN);
  return Number.isSafeInteger(served) ? served : undefined;
};
