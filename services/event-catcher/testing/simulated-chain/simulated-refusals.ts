import type { ChainLog } from '../../../../shared/chain/chain-reader.ts';
import { unnamedRanges } from '../../../../shared/testing/chain/known-refusals/unnamed-ranges.ts';
import type { BlockRange } from '../../../../shared/chain/client/refusals/suggested-range.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { hex, RpcError } from '../../../../shared/testing/chain/wire-forms.ts';

const unnamed = (of: 'blocks' | 'logs') =>
  unnamedRanges.filter((one) => one.of === of && one.asked === undefined && one.httpStatus === undefined);
const UNNAMED = { blocks: unnamed('blocks'), logs: unnamed('logs') };

/** Refuses in the words of some provider. */
export const refuseBlocks = (random: SeededRandom, { from, to }: BlockRange, most: number): RpcError => {
  const works = `[${hex(from)}, ${hex(from + most - 1)}]`;
  const named = [
    `You can make eth_getLogs requests with up to a ${String(most)} block range. Based on your parameters, this block range should work: ${works}`,
    `exceed maximum block range: ${String(most)}`,
    `block range too large: range: ${String(to - from + 1)}, max: ${String(most)}`,
  ];
  return random.chance(0.5) ? new RpcError(random.pick(named) ?? '', { code: -32_600 }) : anyOf('blocks', random);
};

/** @param logs those that it found */
export const refuseLogs = (random: SeededRandom, logs: readonly ChainLog[], most: number): RpcError => {
  const [first] = logs;
  const last = logs[most];
  if (!first || !last || first.blockNumber >= last.blockNumber || random.chance(0.5)) return anyOf('logs', random);
  const [from, to] = [hex(first.blockNumber), hex(last.blockNumber - 1)];
  return new RpcError(`query returned more than ${String(most)} results. Try with this block range [${from}, ${to}].`, {
    code: -32_005,
    data: { from, to, limit: most },
  });
};

const anyOf = (of: 'blocks' | 'logs', random: SeededRandom): RpcError => {
  const { message = '', code, data } = random.pick(UNNAMED[of]) ?? {};
  return new RpcError(message, { code, data });
};

const UNKNOWN_WORDS = [
  'number of logs exceeds the maximum',
  "You've exceeded max limit of 2000 blocks",
  'nope',
  'this is more than we do for you',
  '',
];

/** Refuses in words that no list knows. */
export const refuseOddly = (random: SeededRandom): RpcError =>
  new RpcError(random.chance(0.3) ? random.hash() : (random.pick(UNKNOWN_WORDS) ?? ''), {
    code: random.pick([-32_000, -32_005, -32_602, -32_603, 1]) ?? -32_000,
  });

const PRUNED = [
  new RpcError('pruned history unavailable', { code: 4444 }),
  new RpcError('block is gone', { code: 4444 }),
  new RpcError('history before block 15537394 is no longer available'),
  new RpcError('old data not available due to pruning'),
];

export const refusePruned = (random: SeededRandom): RpcError => random.pick(PRUNED) ?? new RpcError('pruned');
