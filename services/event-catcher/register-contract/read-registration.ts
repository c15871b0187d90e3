import type { z } from 'zod';
import type { WatchedProxy } from '../../../schemas/events/event-catcher/watch-events.ts';
import type { eventCatcherRoutes } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { ChainUnavailable, StateUnavailable } from '../../../shared/chain/chain-reader.ts';
import { claimantText, type Claimant } from '../../../shared/chain/identifiers/claimant.ts';
import { readAddressMember } from '../../../shared/chain/identifiers/address.ts';
import { canonicalSignature, parseEventSignature } from '../../../shared/chain/identifiers/event-signature.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { DeadlineExceeded, withinDeadline } from '../../../shared/primitives/waiting/within-deadline.ts';
import { findEvent, signatureOf, topic0Of } from '../domain/decoding/event-abi.ts';
import { startOf, watchFold, watchIdOf, watchStream, type Registration } from '../domain/watches/watch.ts';
import type { SupportedChain } from '../edge/ports.ts';
import { findMisfit } from './misfit-warning.ts';
import { resolveStartBlock } from './start-block.ts';

/** The event that a caller wants to register. */
export type AskedRegistration = z.output<typeof eventCatcherRoutes.registerContract.body> & Claimant;

interface ReadingFrom {
  transactor: Pick<Transactor, 'load'>;
  chains: ReadonlyMap<number, SupportedChain>;
  /** Whether a sample of logs is checked, to warn if they do not fit. */
  samples: boolean;
}

export interface ReadRegistration {
  registration: Registration & { headBlock: number };
  chain: SupportedChain;
  warnings: string[];
}

/**
 * Reads a registration, and what the chain says about its contract. A contract without code is accepted: it may be
 * deployed later, or have destroyed itself.
 * @throws Refusal chain_not_supported, event_signature_invalid, event_abi_mismatch, start_block_in_future,
 * deploy_block_unknown, dependency_unavailable
 */
export const readRegistration = async (
  asked: AskedRegistration,
  { transactor, chains, samples }: ReadingFrom,
): Promise<ReadRegistration> => {
  const { chainId, appId, userId } = asked;
  const contractAddress = readAddressMember('contractAddress', asked.contractAddress, [chainId]);
  const chain = chains.get(chainId);
  if (!chain) throw new Refusal('chain_not_supported', `chain ${String(chainId)} is not followed here`);
  const fragment = findEvent(asked.eventAbi, parseEventSignature(asked.eventSignature));
  const eventSignature = canonicalSignature(signatureOf(fragment));
  // The canonical text may be longer than the given one, and is parsed again wherever the watch is named.
  parseEventSignature(eventSignature);
  const resolved = await resolveStartBlock(chain, contractAddress, asked.startBlock);
  const { headBlock, hasCode, warnings } = resolved;
  const watched = { chainId, contractAddress, fragment };
  const topic0 = topic0Of(fragment);
  const [proxy, misfit] = await Promise.all([
    hasCode ? findProxy(chain, contractAddress) : null,
    samples ? findMisfit(chain, { ...watched, topic0 }, { to: headBlock }) : undefined,
  ]);
  const watchId = watchIdOf(watched);
  const claimedFrom = asked.startBlock === 'latest' ? await startOfClaim(watchId, asked, transactor) : undefined;
  const startBlock = claimedFrom ?? resolved.startBlock;
  const registration = {
    ...watched,
    watchId,
    eventName: fragment.name,
    eventSignature,
    topic0,
    startBlock,
    appId,
    userId,
    headBlock,
    ...(proxy !== undefined && { proxy }),
  };
  if (proxy === undefined)
    warnings.push('whether the contract is a proxy is not known: no provider of this chain tells');
  if (misfit !== undefined) warnings.push(misfit);
  return { registration, chain, warnings };
};

/**
 * Returns the start block of a watch that the caller already claims. An app that registers it from the latest block on
 * each start loses none of its blocks.
 */
const startOfClaim = async (
  watchId: string,
  claimant: Claimant,
  transactor: Pick<Transactor, 'load'>,
): Promise<number | undefined> => {
  const { state } = await transactor.load(watchStream(watchId), watchFold);
  const claim = claimantText(claimant);
  return state?.claims.includes(claim) ? startOf(state, claim) : undefined;
};

/** The longest that a registration waits for the implementation of a proxy. */
const TOLD_WITHIN_MS = 1_500;

/**
 * Finds which contract a proxy runs; `null` if the contract is no proxy, `undefined` if no provider tells. Watching
 * does not depend on the answer.
 */
export const findProxy = async (
  chain: Pick<SupportedChain, 'proxyOf'>,
  contractAddress: string,
): Promise<WatchedProxy | null | undefined> => {
  try {
    return await withinDeadline('the chain', TOLD_WITHIN_MS, chain.proxyOf(contractAddress.toLowerCase()));
  } catch (error) {
    const isUntold = [ChainUnavailable, StateUnavailable, DeadlineExceeded].some((kind) => error instanceof kind);
    if (isUntold) return undefined;
    throw error;
  }
};
