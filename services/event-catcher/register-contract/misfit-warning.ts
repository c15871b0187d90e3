import type { ChainLog } from '../../../shared/chain/chain-reader.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { compileMisfit } from '../domain/decoding/log-decoder.ts';
import type { Registration } from '../domain/watches/watch.ts';
import type { SupportedChain } from '../edge/ports.ts';
import { sampleLogs } from './sample-logs.ts';

/** The longest that a registration waits for a sample of existing logs. */
const SAMPLE_WITHIN_MS = 1_500;
const SAMPLE_CALLS_MAX = 3;

type Watched = Pick<Registration, 'fragment' | 'topic0' | 'contractAddress'>;

/**
 * Warns if none of the newest logs of an event up to a block fits the ABI: ERC-20 and ERC-721 share the first topic of
 * `Transfer`, and differ in what is indexed. If the chain does not answer, there is no warning, and the registration
 * goes on.
 */
export const findMisfit = async (
  chain: Pick<SupportedChain, 'logsOfRange'>,
  watched: Watched,
  { to, withinMs = SAMPLE_WITHIN_MS }: { to: number; withinMs?: number },
): Promise<string | undefined> => {
  // A log with another layout belongs to no anonymous event.
  if (watched.topic0 === null || to < 0) return undefined;
  try {
    const { logs } = await sampleLogs(chain, watched, {
      from: 0,
      to,
      withinMs: Math.min(withinMs, SAMPLE_WITHIN_MS),
      callsMax: SAMPLE_CALLS_MAX,
    });
    return misfitOf(watched, logs);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'dependency_unavailable') return undefined;
    throw error;
  }
};

/** Returns a warning if none of these logs fits; `undefined` if one does, or there is none. */
export const misfitOf = ({ fragment }: Watched, logs: readonly ChainLog[]): string | undefined => {
  const reasons = logs.map(compileMisfit(fragment));
  const last = reasons.at(-1);
  if (last === undefined || reasons.includes(undefined)) return undefined;
  return (
    `none of the newest logs of this event fits the ABI (${String(logs.length)} were looked at): ${last}. ` +
    'Compare the types, and which parameters are indexed'
  );
};
