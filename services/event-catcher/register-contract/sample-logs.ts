import type { RegisteredContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import {
  BlocksRefused,
  ChainUnavailable,
  RangeTooLarge,
  type ChainLog,
  type LogFilter,
} from '../../../shared/chain/chain-reader.ts';
import { DeadlineExceeded, withinDeadline } from '../../../shared/primitives/waiting/within-deadline.ts';
import { ChunkSize } from '../domain/backfill/chunk-size.ts';
import { compileMatcher } from '../domain/decoding/log-decoder.ts';
import type { Registration } from '../domain/watches/watch.ts';
import type { SupportedChain } from '../edge/ports.ts';
import { findRefusedEnd } from '../edge/find-refused-end.ts';
import { chainUnreadable } from './start-block.ts';

type Estimate = NonNullable<RegisteredContract['estimate']>;

const LOGS_MAX = 10;
const CALLS_MAX = 5;
/** Approximate number of records that are stored in a second. */
const STORED_PER_SECOND = 10_000;
/** After this many calls, the chunk size changes little. */
const CALLS_COUNTED_MAX = 1_000;

/** The logs of the newest blocks, and what it took to read them. */
interface Reading {
  logs: ChainLog[];
  blocks: number;
  records: number;
  calls: number;
  tookMs: number;
  size: ChunkSize;
}

interface Asked {
  from: number;
  to: number;
  withinMs: number;
}

/**
 * The first stretch of blocks, from these on, whose logs of an event no provider has; `undefined` if the first block is
 * available, or nobody tells in time.
 */
export const findMissing = async (
  chain: Pick<SupportedChain, 'logsOfRange'>,
  registration: Registration,
  { from, to, withinMs }: Asked,
): Promise<{ fromBlock: number; toBlock: number; reason: string } | undefined> => {
  const filter = filterOf(registration);
  const endsAt = performance.now() + withinMs;
  const within = <Answer>(answer: Promise<Answer>) =>
    withinDeadline('the chain', Math.max(0, endsAt - performance.now()), answer);
  try {
    await within(chain.logsOfRange(from, from, filter));
  } catch (error) {
    if (!(error instanceof BlocksRefused)) return undefined;
    const { reason } = error.refusal;
    let toBlock = from;
    const found = findRefusedEnd(chain, filter, { from, to }, (block) => {
      toBlock = block;
    });
    await within(found).catch((thrown: unknown) => {
      if (!(thrown instanceof ChainUnavailable || thrown instanceof DeadlineExceeded)) throw thrown;
    });
    return { fromBlock: from, toBlock, reason };
  }
  return undefined;
};

const filterOf = ({ topic0, contractAddress }: Pick<Registration, 'topic0' | 'contractAddress'>): LogFilter => ({
  addresses: [contractAddress.toLowerCase()],
  topics: topic0 === null ? [] : [topic0],
});

/**
 * Reads the newest blocks for an event, as a backfill would, in a few calls, until there are some logs. If the chain
 * stops answering, what was read before is enough.
 * @throws Refusal dependency_unavailable
 */
export const sampleLogs = async (
  chain: Pick<SupportedChain, 'logsOfRange'>,
  registration: Pick<Registration, 'fragment' | 'topic0' | 'contractAddress'>,
  { from, to, withinMs, callsMax = CALLS_MAX }: Asked & { callsMax?: number },
): Promise<Reading> => {
  const endsAt = performance.now() + withinMs;
  const filter = filterOf(registration);
  const matches = compileMatcher(registration.fragment, registration.topic0);
  const reading: Reading = { logs: [], blocks: 0, records: 0, calls: 0, tookMs: 0, size: new ChunkSize() };
  let end = to;
  let refused: RangeTooLarge | ChainUnavailable | DeadlineExceeded | undefined;
  for (let call = 0; call < callsMax && end >= from && reading.logs.length < LOGS_MAX; call += 1) {
    const begin = Math.max(from, end - reading.size.blocks + 1);
    const blocks = end - begin + 1;
    try {
      const askedAt = performance.now();
      const asked = chain.logsOfRange(begin, end, filter);
      const found = (await withinDeadline('the chain', Math.max(0, endsAt - askedAt), asked)).filter(matches);
      reading.tookMs += performance.now() - askedAt;
      reading.calls += 1;
      reading.blocks += blocks;
      reading.records += found.length;
      reading.logs = [...found, ...reading.logs].slice(-LOGS_MAX);
      reading.size.answered({ blocks, events: found.length });
      end = begin - 1;
    } catch (error) {
      const isTooLarge = error instanceof RangeTooLarge;
      if (!isTooLarge && !(error instanceof ChainUnavailable || error instanceof DeadlineExceeded)) throw error;
      refused = error;
      if (!isTooLarge || blocks === 1) break;
      reading.size.refused(blocks, error.suggested);
    }
  }
  if (refused && reading.calls === 0) throw chainUnreadable(refused);
  return reading;
};

/** Estimates the time to read this many blocks, if they are like those that were read. */
export const estimateBackfill = ({ blocks: read, records, calls, tookMs, size }: Reading, blocks: number): Estimate => {
  if (read === 0) return { blocks, records: 0, calls: 0, seconds: 0 };
  const each = records / read;
  let needed = 0;
  let left = blocks;
  for (; left > 0 && needed < CALLS_COUNTED_MAX; needed += 1) {
    const next = Math.min(left, size.blocks);
    size.answered({ blocks: next, events: Math.round(next * each) });
    left -= next;
  }
  needed += Math.ceil(left / size.blocks);
  const expected = Math.round(blocks * each);
  const seconds = (needed * tookMs) / calls / 1_000 + expected / STORED_PER_SECOND;
  return { blocks, records: expected, calls: needed, seconds: Math.ceil(seconds) };
};
