import { ChainClient } from '../../shared/chain/client/chain-client.ts';
import { JsonRpcChainReader } from '../../shared/chain/client/chain-reader.json-rpc.ts';
import type { ChainSettings } from '../../shared/config/chain-settings.ts';
import { CannotStart } from '../../shared/errors/cannot-start.ts';
import { operatorMetadata } from '../../shared/event-store/transactions/own-metadata.ts';
import { Transactor } from '../../shared/event-store/transactions/transact.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import type { Anchor } from './domain/window/anchors.ts';
import { newestOnChain } from './edge/newest-on-chain.ts';
import { storedProgress } from './edge/stored-progress.ts';
import { acceptanceFold, acceptanceStream, giveUpFinalBlock } from './domain/window/acceptance.ts';

/** The final block that the chain dropped, and the hash of the block in its place. */
export interface AcceptedChain {
  chainId: number;
  blockNumber: number;
  droppedHash: string;
  currentHash: string;
}

/**
 * Accepts that a chain dropped the newest final block that was read here. The event catcher then reverts all records
 * after the newest anchor that is still on the chain, or from `fromBlock` on, and reads those blocks again.
 * @param fromBlock needed if no anchor is on the chain any more
 * @throws CannotStart if nothing of the chain was read, an endpoint still has the block, or an endpoint does not tell
 * which block is in its place
 */
export const acceptChain = async (
  { chainId, rpcUrls }: Pick<ChainSettings, 'chainId' | 'rpcUrls'>,
  { eventStore, clock, ids }: Pick<Foundation, 'eventStore' | 'clock' | 'ids'>,
  fromBlock?: number,
): Promise<AcceptedChain> => {
  const name = `chain ${String(chainId)}`;
  const progress = await storedProgress(eventStore, chainId);
  const [final] = progress?.window ?? [];
  if (!progress || !final) throw new CannotStart(`nothing of ${name} has been read yet`);
  const { number, hash } = final;
  const hashes = await Promise.all(
    rpcUrls.map((url, at) =>
      hashAt(chainId, url, number).catch((cause: unknown) => {
        const which = `endpoint ${String(at + 1)} of ${name}`;
        const what = `${which} does not say which block ${String(number)} is, or has none yet`;
        throw new CannotStart(`${what}: wait until it does, or take it out of "rpcUrls" in CHAINS`, { cause });
      }),
    ),
  );
  if (hashes.includes(hash)) {
    throw new CannotStart(
      `an endpoint of ${name} has block ${String(number)}, the newest that is final here: there is nothing to accept`,
    );
  }
  if (fromBlock === undefined && !(await isAnchored(chainId, rpcUrls, progress.anchors ?? []))) {
    throw new CannotStart(
      `no earlier final block of ${name} is remembered that is still on it: say with --from from which block on all is to be ` +
        'reverted and read again',
    );
  }
  await new Transactor(eventStore, clock, ids).transact({
    stream: acceptanceStream(chainId),
    fold: acceptanceFold,
    metadata: operatorMetadata(ids),
    decide: (known) =>
      giveUpFinalBlock(known, { chainId, number, hash, ...(fromBlock !== undefined && { fromBlock }) }),
  });
  return { chainId, blockNumber: number, droppedHash: hash, currentHash: hashes[0] ?? '' };
};

/** @throws if the endpoint does not answer, or does not have a block with that number yet */
const hashAt = (chainId: number, url: string, number: number): Promise<string> =>
  withReader(chainId, [url], async (reader) => {
    const [header] = await reader.headersByNumber([number]);
    if (!header) throw new Error('the block does not exist yet');
    return header.hash;
  });

const isAnchored = (chainId: number, rpcUrls: readonly string[], anchors: readonly Anchor[]): Promise<boolean> =>
  withReader(chainId, rpcUrls, async (reader) => (await newestOnChain(anchors, reader)) !== undefined);

const withReader = async <Result>(
  chainId: number,
  rpcUrls: readonly string[],
  work: (reader: JsonRpcChainReader) => Promise<Result>,
): Promise<Result> => {
  const reader = new JsonRpcChainReader(new ChainClient(chainId, rpcUrls));
  try {
    return await work(reader);
  } finally {
    reader.close();
  }
};
