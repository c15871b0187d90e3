import type { ChainProgressEvent } from '../../schemas/events/chain-events.ts';
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
 * Accepts that a chain gave up the block that was its newest final one here: its event catcher then goes on with what the chain
 * says now.
 * @throws CannotStart if nothing of it was read, the chain has the block still, or no provider answers
 */
export const acceptChain = async (
  { chainId, rpcUrls }: Pick<ChainSettings, 'chainId' | 'rpcUrls'>,
  { eventStore, clock, ids }: Pick<Foundation, 'eventStore' | 'clock' | 'ids'>,
): Promise<AcceptedChain> => {
  const name = `chain ${String(chainId)}`;
  const [newest] = await eventStore.read(`chain-${String(chainId)}`, { direction: 'backwards', limit: 1 });
  const [final] = newest?.type === 'ChainAdvanced' ? (newest as StoredEvent & ChainProgressEvent).data.window : [];
  if (!final) throw new CannotStart(`nothing of ${name} has been read yet`);
  const { number, hash } = final;
  const reader = new JsonRpcChainReader(chainId, rpcUrls);
  const [found] = await reader
    .headersByNumber([number])
    .catch((error: unknown) => {
      throw new CannotStart(`no provider of ${name} answers: check "rpcUrls" of it in CHAINS`, { cause: error });
    })
    .finally(() => {
      reader.close();
    });
  if (found?.hash === hash)
    throw new CannotStart(
      `${name} has block ${String(number)}, the newest that is final here: there is nothing to accept`,
    );
  await new Transactor(eventStore, clock, ids).transact({
    stream: acceptanceStream(chainId),
    fold: acceptanceFold,
    metadata: operatorMetadata(ids),
    decide: (known) => giveUpFinalBlock(known, { chainId, number, hash }),
  });
  return { chainId, blockNumber: number, droppedHash: hash, currentHash: found?.hash ?? null };
};
