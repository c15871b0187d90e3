import { HALF, ofBlocks, ofLogs, type KnownRefusal } from './named-ranges.ts';

/** Texts that say that the range is too large, without naming one that is not. */
export const unnamedRanges: readonly KnownRefusal[] = [
  { by: 'Ankr', code: -32_600, message: 'block range is too wide', ...ofBlocks(HALF) },
  {
    by: 'Chainstack',
    code: -32_602,
    message: 'Block range limit exceeded. See more details at https://docs.chainstack.com/docs/limits#evm-range-limits',
    ...ofBlocks(HALF),
  },
  { by: 'Optimism', code: -32_000, message: 'Block range is too large', ...ofBlocks(HALF) },
  { by: 'Base, formerly', code: -32_600, message: 'block range too large', ...ofBlocks(HALF) },
  { by: 'Candle', code: -32_600, message: 'block range too high', ...ofBlocks(HALF) },
  { by: 'Scroll', code: -32_000, message: 'block range is bigger than maxBlockRange', ...ofBlocks(HALF) },
  { by: 'Besu', code: -32_005, message: 'Requested range exceeds maximum RPC range limit', ...ofBlocks(HALF) },
  { by: 'BSC', code: -32_005, message: 'limit exceeded', ...ofBlocks(HALF) },
  {
    by: 'an endpoint whose bound is not the reason',
    message: 'eth_getLogs is limited to a 10,000 range',
    asked: { from: 1, to: 100 },
    ...ofBlocks(50),
  },
  { by: 'Polygon zkEVM, results', message: 'query returned more than 10000 results', ...ofLogs(10_000) },
  { by: 'Arbitrum', code: -32_000, message: 'logs matched by query exceeds limit of 10000', ...ofLogs(10_000) },
  {
    by: 'Nethermind',
    code: -32_005,
    message: 'Too many logs requested. Max logs per response is 20000.',
    ...ofLogs(20_000),
  },
  {
    by: 'Erigon, results',
    code: -32_000,
    message: 'query returns too many logs, narrow your filter: 20000',
    ...ofLogs(20_000),
  },
  {
    by: 'PulseChain',
    code: -32_000,
    message: 'query returned more than allowed number of logs, try with smaller block range',
    ...ofLogs(),
  },
  { by: 'reth, bytes', message: 'length limit exceeded', ...ofLogs() },
  { by: '1RPC, bytes', code: -32_600, message: 'response size should not greater than 10000000 bytes', ...ofLogs() },
  { by: 'Optimism, proxyd', code: -32_020, message: 'backend response too large', ...ofLogs() },
  { by: 'a proxy', httpStatus: 413, message: '<html><h1>Request Entity</h1></html>', ...ofLogs() },
  { by: 'Alchemy, time', message: 'Query timeout exceeded. Consider reducing your block range.', ...ofLogs() },
  { by: 'Blockdaemon', code: -32_002, message: 'request timed out', ...ofLogs() },
  { by: 'a Go node out of time', code: -32_000, message: 'context deadline exceeded', ...ofLogs() },
];
