import type { ChainProgressEvent } from '../../schemas/events/chain-events.ts';
import type { BlockHeader } from '../../shared/chain/chain-reader.ts';
import { JsonRpcChainReader } from '../../shared/chain/chain-reader.json-rpc.ts';
import type { ChainSettings } from '../../shared/config/settings.ts';
import { CannotStart } from '../../shared/errors/cannot-start.ts';
import type { StoredEvent } from '../../shared/event-store/event-store.ts';
import { operatorMetadata } from '../../shared/event-store/own-metadata.ts';
import { Transactor } from '../../shared/event-store/transact.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import { acceptanceFold, acceptanceStream, giveUpFinalBlock } from './domain/acceptance.ts';

/** The final block that the chain dropped, and the hash of the block in its place; `null`: none. */
export interface AcceptedChain {
  chainId: number;
  blockNumber: number;
  droppedHash: string;
  currentHash: string | null;
}

/**
 * Accepts that a chain dropped the block that was its newest final one here: its event catcher then reverts all records after the newest
 * anchor that is still on the chain, or from a block on, and reads those blocks again.
 * @param fromBlock needed where no anchor is on the chain any more
 * @throws CannotStart if nothing of it was read, a provider still has the block, or none tells which block is in its place
 */
export const acceptChain = async (
  { chainId, rpcUrls }: Pick<ChainSettings, 'chainId' | 'rpcUrls'>,
  { eventStore, clock, ids }: Pick<Foundation, 'eventStore' | 'clock' | 'ids'>,
  fromBlock?: number,
): Promise<AcceptedChain> => {
  const name = `chain ${String(chainId)}`;
  const [newest] = await eventStore.read(`chain-${String(chainId)}`, { direction: 'backwards', limit: 1 });
  const progress = newest?.type === 'ChainAdvanced' ? (newest as StoredEvent & ChainProgressEvent).data : undefined;
  const [final] = progress?.window ?? [];
  if (!progress || !final) throw new CannotStart(`nothing of ${name} has been read yet`);
  const { number, hash } = final;
  const numbers = [...(progress.anchors ?? []), final].map((block) => block.number);
  const found = (await Promise.allSettled(rpcUrls.map((url) => headersAt(chainId, url, numbers)))).flatMap((answer) =>
    answer.status === 'fulfilled' ? [answer.value] : [],
  );
  const [first] = found;
  if (!first) {
    throw new CannotStart(
      `no provider of ${name} answers and is beyond block ${String(number)}: check "rpcUrls" of it in CHAINS`,
    );
  }
  if (found.some((headers) => headers.at(-1)?.hash === hash)) {
    throw new CannotStart(
      `a provider of ${name} has block ${String(number)}, the newest that is final here: there is nothing to accept`,
    );
  }
  const isAnchored = (progress.anchors ?? []).some((anchor, at) =>
    found.every((headers) => headers[at]?.hash === anchor.hash),
  );
  if (fromBlock === undefined && !isAnchored) {
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
  return { chainId, blockNumber: number, droppedHash: hash, currentHash: first.at(-1)?.hash ?? null };
};

/** The headers that one endpoint has. @throws if it does not answer, or is not beyond the last one */
const headersAt = async (
  chainId: number,
  url: string,
  numbers: readonly number[],
): Promise<(BlockHeader | undefined)[]> => {
  const reader = new JsonRpcChainReader(chainId, [url]);
  try {
    const head = await reader.head();
    if (head.number < Math.max(...numbers)) throw new CannotStart('the endpoint is behind');
    return await reader.headersByNumber(numbers);
  } finally {
    reader.close();
  }
};
