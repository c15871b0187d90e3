import type { ChainLog } from '../../../../shared/chain/chain-reader.ts';
import type { LogToMine } from '../../../../shared/testing/chain/simulated-chain.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { anonymousWatch, approvalWatch, transferWatch, wrongWatch } from '../example-watches.ts';
import type { SimulatedBlock } from '../../../../shared/testing/chain/simulated-chain.ts';

export const CHAIN_ID = transferWatch.chainId;
export const CONTRACTS = [transferWatch.contractAddress, `0x${'0'.repeat(39)}1`, `0x${'0'.repeat(39)}2`] as const;
const [, second, third] = CONTRACTS;
/** The events that are mined. */
export const TOPICS = [transferWatch.topic0 ?? '', approvalWatch.topic0];

/** Watches that overlap: with the same logs, with all logs of a contract, with none. */
export const SIMULATED_WATCHES = [
  transferWatch,
  approvalWatch,
  wrongWatch,
  { ...transferWatch, watchId: 'wch_twin' },
  anonymousWatch,
  { ...transferWatch, watchId: 'wch_second', contractAddress: second },
  { ...anonymousWatch, watchId: 'wch_anonymous_second', contractAddress: second },
  { ...approvalWatch, watchId: 'wch_third', contractAddress: third },
  { ...approvalWatch, watchId: 'wch_never', contractAddress: third, topic0: `0x${'5'.repeat(64)}` },
];
const BY_ID = new Map(SIMULATED_WATCHES.map((watch) => [watch.watchId, watch]));

const word = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`;

/** The logs of a block: often none, mostly of one contract, and now and then more than some endpoints return. */
export const randomLogs = (random: SeededRandom, most = 4): LogToMine[] => {
  const few = random.chance(0.5) ? random.between(1, most) : 0;
  const count = random.chance(0.02) ? random.between(10, 50) : few;
  const isMixed = random.chance(0.1);
  const address = random.pick(CONTRACTS)?.toLowerCase() ?? '';
  return Array.from({ length: count }, () => ({
    ...(random.chance(0.03) ? { topics: [word(9)], data: '0x' } : randomEvent(random)),
    address: isMixed ? (random.pick(CONTRACTS)?.toLowerCase() ?? '') : address,
  }));
};

const randomEvent = (random: SeededRandom): Pick<LogToMine, 'topics' | 'data'> => ({
  topics: [(random.chance(0.6) ? transferWatch.topic0 : approvalWatch.topic0) ?? '', word(1), word(2)],
  data: word(random.between(0, 1_000_000)),
});

const known = new WeakMap<SimulatedBlock, Map<string, readonly string[]>>();

/** The keys of a watch's records in a block, in log order. */
export const recordsOf = (watchId: string, block: SimulatedBlock): readonly string[] => {
  const ofBlock = known.get(block) ?? new Map<string, readonly string[]>();
  known.set(block, ofBlock);
  const found = ofBlock.get(watchId);
  if (found) return found;
  const keys = block.logs.filter((log) => isOf(watchId, log)).map((log) => `${idOf(log)}/${watchId}`);
  ofBlock.set(watchId, keys);
  return keys;
};

const isOf = (watchId: string, { address, topics, data }: ChainLog): boolean => {
  const watch = BY_ID.get(watchId);
  if (watch?.contractAddress.toLowerCase() !== address) return false;
  return watch.topic0 === null ? topics.length === 3 && data.length === 66 : topics[0] === watch.topic0;
};

const idOf = ({ blockHash, txHash, logIndex }: ChainLog): string => [CHAIN_ID, blockHash, txHash, logIndex].join(':');
