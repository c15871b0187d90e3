import type { Refusal } from '../../../chain/client/refusals/rpc-refusals.ts';
import type { BlockRange } from '../../../chain/client/refusals/suggested-range.ts';

/** A refusal that a provider was seen to send for a request of logs, and the expected reaction. */
export interface KnownRefusal {
  by: string;
  httpStatus?: number;
  code?: number;
  message: string;
  data?: unknown;
  /** Default: a million blocks from block 1,000,000 on. */
  asked?: BlockRange;
  is: Refusal['kind'];
  /** How many blocks to request next; of a million, 500,000 if the text names none. */
  blocks?: number;
  /** Whether the limit is one of blocks, for any filter, or of logs. */
  of?: 'blocks' | 'logs';
  logsMax?: number;
  /** How long the endpoint is not asked. */
  retryAfterMs?: number;
}

/** Number of blocks to request next after a million. */
export const HALF = 500_000;
export const ofBlocks = (blocks: number) => ({ is: 'range-too-large', of: 'blocks', blocks }) as const;
export const ofLogs = (logsMax?: number, blocks = HALF) =>
  ({ is: 'range-too-large', of: 'logs', blocks, ...(logsMax !== undefined && { logsMax }) }) as const;

/** Texts that name a range, or the endpoint's maximum number of blocks. */
export const namedRanges: readonly KnownRefusal[] = [
  {
    by: 'Alchemy, results',
    code: -32_602,
    httpStatus: 400,
    message:
      'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x0, 0x133e71]',
    asked: { from: 0, to: 2_000_000 },
    ...ofLogs(10_000, 0x133e72),
  },
  {
    by: 'Alchemy, free',
    code: -32_600,
    httpStatus: 400,
    message:
      'Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x1180fca, 0x1180fd3]. Upgrade to PAYG for expanded block range.',
    asked: { from: 0x1180fca, to: 0x1181fca },
    ...ofBlocks(10),
  },
  {
    by: 'Alchemy, as it was in 2025',
    code: -32_600,
    httpStatus: 400,
    message:
      'You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x1a30dfd, 0x1a30ff0]',
    asked: { from: 0x1a30dfd, to: 0x1a311fd },
    ...ofBlocks(500),
  },
  {
    by: 'Alchemy, time',
    code: -32_000,
    httpStatus: 400,
    message:
      'Query timeout exceeded. Consider reducing your block range. Based on your parameters and the response size limit, this block range should work: [0x5223c98, 0x5223e80]',
    asked: { from: 0x5223c98, to: 0x5224898 },
    ...ofLogs(undefined, 0x1e9),
  },
  {
    by: 'Blast API',
    code: -32_600,
    message:
      'You can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x18b0000, 0x18b0009]',
    asked: { from: 0x18b0000, to: 0x18c0000 },
    ...ofBlocks(10),
  },
  {
    by: 'Infura, results',
    code: -32_005,
    message: 'query returned more than 10000 results. Try with this block range [0xCB3D, 0x7B737].',
    data: { from: '0xCB3D', limit: 10_000, to: '0x7B737' },
    asked: { from: 0xcb3d, to: 1_000_000 },
    ...ofLogs(10_000, 0x7b737 - 0xcb3d + 1),
  },
  {
    by: 'Infura, results, in data alone',
    code: -32_005,
    message: 'query returned too many results',
    data: { from: '0xBDE5F8', limit: 10_000, to: '0x102DBCC' },
    asked: { from: 0xbde5f8, to: 0x1312d00 },
    ...ofLogs(undefined, 0x102dbcc - 0xbde5f8 + 1),
  },
  {
    by: 'Gnosis, Nethermind',
    code: -32_602,
    message: 'invalid params',
    data: 'Query returned more than 50000 results. Try with this block range [0x1000000, 0x1080000].',
    asked: { from: 0x1000000, to: 0x1800000 },
    ...ofLogs(50_000, 0x80001),
  },
  {
    by: 'zkSync Era',
    code: -32_602,
    message: 'Query returned more than 10000 results. Try with this block range [0x118dc91, 0x1198cc3].',
    asked: { from: 0x118dc91, to: 0x1199fe0 },
    ...ofLogs(10_000, 0x1198cc3 - 0x118dc91 + 1),
  },
  {
    by: 'reth, results; dRPC, LlamaNodes',
    code: -32_602,
    message: 'query exceeds max results 20000, retry with the range 23879634-23879696',
    asked: { from: 23_879_634, to: 23_889_634 },
    ...ofLogs(20_000, 63),
  },
  {
    by: 'reth, results, which names what was asked',
    code: -32_602,
    message: 'query exceeds max results 20000, retry with the range 25766988-25775072',
    asked: { from: 25_766_988, to: 25_775_072 },
    ...ofLogs(20_000, 4_042),
  },
  { by: 'reth; Hyperliquid', code: -32_602, message: 'query exceeds max block range 100000', ...ofBlocks(100_000) },
  { by: 'reth, Arc', code: -32_600, message: 'Query exceeds max block range of 10000', ...ofBlocks(10_000) },
  { by: 'Infura, blocks; Linea', code: -32_602, message: 'range 1000000 exceeds limit of 10000', ...ofBlocks(10_000) },
  {
    by: 'Base; QuickNode',
    code: -32_614,
    httpStatus: 413,
    message: 'eth_getLogs is limited to a 10,000 range',
    ...ofBlocks(10_000),
  },
  {
    by: 'QuickNode, free',
    code: -32_614,
    httpStatus: 413,
    message: 'eth_getLogs is limited to a 5 range, upgrade from discover plan to increase the range',
    ...ofBlocks(5),
  },
  {
    by: 'QuickNode, formerly',
    code: -32_602,
    message: 'eth_getLogs and eth_newFilter are limited to a 10,000 blocks range',
    ...ofBlocks(10_000),
  },
  { by: '1RPC', code: -32_602, message: 'eth_getLogs is limited to 0 - 50 blocks range', ...ofBlocks(50) },
  {
    by: 'BlockPI',
    code: -32_602,
    message:
      'eth_getLogs is limited to 1024 block range. Please check the parameter requirements at  https://docs.blockpi.io/documentations/api-reference',
    ...ofBlocks(1_024),
  },
  {
    by: 'dRPC, free',
    code: 35,
    httpStatus: 400,
    message: 'ranges over 10000 blocks are not supported on freetier',
    ...ofBlocks(10_000),
  },
  {
    by: 'Cloudflare',
    code: -32_047,
    message: "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800",
    ...ofBlocks(800),
  },
  {
    by: 'Thirdweb',
    code: -32_602,
    message: 'Log response size exceeded. Maximum allowed number of requested blocks is 1000',
    ...ofBlocks(1_000),
  },
  { by: 'Coinbase', code: -32_602, message: 'please limit the query to at most 1000 blocks', ...ofBlocks(1_000) },
  { by: 'geth; PublicNode, BSC', code: -32_701, message: 'exceed maximum block range: 50000', ...ofBlocks(50_000) },
  { by: 'Hedera; Immutable', code: -32_000, message: 'Exceeded maximum block range: 1000', ...ofBlocks(1_000) },
  { by: 'Polygon zkEVM; Merlin', code: -32_000, message: 'block range too large, max range: 2000', ...ofBlocks(2_000) },
  {
    by: 'Polygon zkEVM, formerly',
    code: -32_602,
    message: 'logs are limited to a 10000 block range',
    ...ofBlocks(10_000),
  },
  {
    by: 'Polygon',
    code: -32_000,
    message: 'eth_getLogs block range too large, range: 99991, max: 3500',
    asked: { from: 1, to: 99_991 },
    ...ofBlocks(3_500),
  },
  {
    by: 'Avalanche; dRPC',
    code: -32_000,
    message: 'requested too many blocks from 1000000 to 1999999, maximum is set to 2048',
    ...ofBlocks(2_048),
  },
  {
    by: 'Tenderly',
    code: -32_602,
    message: 'invalid params',
    data: {
      error_id: '4ed94073-0317-4648-a167-107fba5f44b3',
      payload: 'range 9009594 is bigger than range limit 2000',
    },
    asked: { from: 0, to: 9_009_594 },
    ...ofBlocks(2_000),
  },
  {
    by: 'Blast, paid',
    code: -32_600,
    message: 'eth_getLogs exceeds the range allowed for your plan (5000 > 500)',
    ...ofBlocks(500),
  },
  { by: 'Fantom, Sonic', code: -32_000, message: 'too wide blocks range, the limit is 100', ...ofBlocks(100) },
  { by: 'Mantle, Swell', code: -32_602, message: 'block range greater than 10000 max', ...ofBlocks(10_000) },
  { by: 'Somnia', code: -32_000, message: 'block range exceeds 1000', ...ofBlocks(1_000) },
  {
    by: 'Merkle',
    code: -32_603,
    message: 'eth_getLogs range is too large, max is 1k blocks',
    ...ofBlocks(1_000),
  },
  { by: 'Harmony', code: -32_000, message: 'GetLogs query must be smaller than size 1024', ...ofBlocks(1_024) },
  { by: 'Cronos, Kava', code: -32_000, message: 'maximum [from, to] blocks distance: 2000', ...ofBlocks(2_000) },
  { by: 'Moonbeam', code: -32_603, message: 'block range is too wide (maximum 1024)', ...ofBlocks(1_024) },
  {
    by: 'Celo',
    code: -32_602,
    message: 'query exceeds range, retry smaller (max block range 5000, got 16777216)',
    ...ofBlocks(5_000),
  },
  {
    by: 'Ronin',
    code: -32_602,
    message: 'Invalid params',
    data: 'requested block range 16777217 exceeds the limit of 200; narrow your fromBlock/toBlock',
    ...ofBlocks(200),
  },
  {
    by: 'Morph',
    code: -32_000,
    message: 'block range is larger than max block range, block range = 5120, max block range = 5000',
    asked: { from: 10_569_174, to: 10_574_293 },
    ...ofBlocks(5_000),
  },
  {
    by: 'Sei',
    code: -32_000,
    message: 'block range too large (2000), maximum allowed is 1000 blocks',
    ...ofBlocks(1_000),
  },
  {
    by: 'a plan',
    code: -32_600,
    message: 'Block range too large: maximum allowed is 50 blocks on your current plan.',
    ...ofBlocks(50),
  },
  { by: 'BlockRazor', code: -32_000, message: 'log query range must not exceed 25 blocks', ...ofBlocks(25) },
  {
    by: 'a Solana-speed chain',
    message:
      'query spans 100000 blocks (511978060 to 512078059), but only 30000 are allowed for this request; narrow the block range, or add an address filter',
    asked: { from: 511_978_060, to: 512_078_059 },
    ...ofBlocks(30_000),
  },
  {
    by: 'Erigon',
    code: -32_602,
    message: 'query block range exceeds server limit, narrow your filter: 1000',
    ...ofBlocks(1_000),
  },
];
