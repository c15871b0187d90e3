import { AnnalsError } from '../annals-error.ts';
import type { Routes } from '../routes.ts';

/** Nodes of which each serves the same subscriptions. */
export interface StreamNodes {
  /** Subscriptions may share a connection if this is the same. */
  name: string;
  /** Returns where to connect: a node that has not failed, unless all have. */
  url: (failed: ReadonlySet<string>) => Promise<string>;
}

/** A client that lost its node waits so long for the gateway, then tries the nodes it knows. */
const ANSWER_MS = 3_000;

type GatewayNode = Routes['listNodes']['answer']['nodes'][number];

/** The one node that the app names, or what stands before all nodes. */
export const nodeAt = (streamUrl: string): StreamNodes => ({
  name: streamUrl,
  url: () => Promise.resolve(streamUrl),
});

/**
 * Finds the nodes for a contract. The gateway names them in the order in which to try them, and is asked again before each
 * later connection, as it knows what became of them; while it does not answer, those that it named before are tried.
 * @param ask returns the nodes in this order
 * @throws AnnalsError if there is none, and what `ask` throws
 */
export const findNodes = async (
  ask: (signal: AbortSignal | undefined) => Promise<{ nodes: readonly GatewayNode[] }>,
  signal?: AbortSignal,
): Promise<StreamNodes> => {
  const urls = async (until: AbortSignal | undefined) => (await ask(until)).nodes.map(({ rpcDomain }) => rpcDomain);
  let known = await urls(signal);
  const [first] = known;
  if (first === undefined) throw new AnnalsError('dependency_unavailable', 'the gateway knows no node of this chain');
  let isFresh = true;
  return {
    name: known.join(' '),
    url: async (failed) => {
      const found = isFresh ? known : await urls(AbortSignal.timeout(ANSWER_MS)).catch(() => []);
      isFresh = false;
      if (found.length > 0) known = found;
      return known.find((url) => !failed.has(url)) ?? known[0] ?? first;
    },
  };
};
