import { claimantText, type Claimant } from '../../../shared/chain/claimant.ts';
import { readAddressMember } from '../../../shared/chain/address.ts';
import { canonicalSignature, parseEventSignature } from '../../../shared/chain/event-signature.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import { findEvent, signatureOf } from '../domain/event-abi.ts';
import { topic0Of } from '../domain/topic0.ts';
import {
  formerWatchIdOf,
  isSameFragment,
  startOf,
  watchFold,
  watchIdOf,
  watchStream,
  type Registration,
  type Watched,
} from '../domain/watch.ts';
import type { SupportedChain } from '../edge/ports.ts';
import { findMisfit } from './misfit-warning.ts';
import { findProxy } from './proxy.ts';
import { resolveStartBlock, type AskedStartBlock } from './start-block.ts';

/** What somebody wants to be registered. */
export interface AskedRegistration extends Claimant {
  chainId: number;
  contractAddress: string;
  eventSignature: string;
  eventAbi: unknown;
  startBlock: AskedStartBlock;
}

interface ReadingFrom {
  transactor: Pick<Transactor, 'load'>;
  chains: ReadonlyMap<number, SupportedChain>;
  /** Whether some logs are looked at, and it is said if they do not fit. */
  samples: boolean;
}

export interface ReadRegistration {
  registration: Registration & { headBlock: number };
  chain: SupportedChain;
  warnings: string[];
}

/**
 * Reads what is asked for, and what the chain says about it. A contract without code is accepted: it may be deployed later, or
 * have destroyed itself.
 * @throws Refusal chain_not_supported, event_signature_invalid, event_abi_mismatch, start_block_in_future, deploy_block_unknown,
 * dependency_unavailable
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
  // It may be longer than what was given, and is parsed again wherever the watch is named.
  parseEventSignature(eventSignature);
  const resolved = await resolveStartBlock(chain, contractAddress, asked.startBlock);
  const { headBlock, hasCode, warnings } = resolved;
  const watched = { chainId, contractAddress, fragment };
  const topic0 = topic0Of(fragment);
  const [proxy, misfit] = await Promise.all([
    hasCode ? findProxy(chain, contractAddress) : null,
    samples ? findMisfit(chain, { ...watched, topic0 }, { to: headBlock }) : undefined,
  ]);
  const watchId = await watchIdFor(watched, transactor);
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
 * Returns where a watch begins that the caller claims already: an app that registers it from the latest block each time it starts
 * loses none of its blocks.
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

/** A watch that was registered when its id depended on its signature only keeps that id. */
const watchIdFor = async (watched: Watched, transactor: Pick<Transactor, 'load'>): Promise<string> => {
  const formerId = formerWatchIdOf(watched);
  const { state } = await transactor.load(watchStream(formerId), watchFold);
  return state && isSameFragment(state.fragment, watched.fragment) ? formerId : watchIdOf(watched);
};
