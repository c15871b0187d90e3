import { describe, expect, it } from '@jest/globals';
import { saysNoBatch, saysRangeTooLarge, saysStateUnavailable } from './rpc-refusals.ts';

/** Texts that public endpoints answered, and texts in the source code of nodes. */
const rangeTooLarge = {
  'Alchemy, results':
    'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x0, 0x79bcb3]',
  'Alchemy, free':
    'Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x1180fca, 0x1180fd3]. Upgrade to PAYG for expanded block range.',
  'Alchemy, time': 'Query timeout exceeded. Consider reducing your block range.',
  'Infura, zkSync': 'query returned more than 10000 results. Try with this block range [0x7B5A6F, 0x7B5AB4].',
  'QuickNode, free': 'eth_getLogs is limited to a 5 range',
  QuickNode: 'eth_getLogs and eth_newFilter are limited to a 10,000 blocks range',
  Ankr: 'block range is too wide',
  Moonbeam: 'block range is too wide (maximum 1024)',
  'dRPC, results': 'query exceeds max results 20000, retry with the range 3600741-3620740',
  'dRPC, free': 'ranges over 10000 blocks are not supported on freetier',
  reth: 'query exceeds max block range 100000',
  'reth, bytes': 'length limit exceeded',
  geth: 'exceed maximum block range: 50000',
  'Avalanche, Flare': 'requested too many blocks from 0 to 27842567, maximum is set to 2048',
  'Arbitrum, zkEVM': 'logs matched by query exceeds limit of 10000',
  Cloudflare: 'Max range: 800',
  Thirdweb: 'Maximum allowed number of requested blocks is 3500',
  BlockPI: 'eth_getLogs is limited to 1024 block range. Please check the parameter requirements',
  '1RPC': 'eth_getLogs is limited to 0 - 50 blocks range',
  '1RPC, bytes': 'response size should not greater than 10000000 bytes',
  'Optimism, proxyd': 'backend response too large',
  Optimism: 'Block range is too large',
  Base: 'block range too large',
  Blast: 'eth_getLogs exceeds the range allowed for your plan (5000 > 500)',
  Chainstack: 'Block range limit exceeded. See more details at <url>',
  Coinbase: 'please limit the query to at most 1000 blocks',
  PublicNode: 'maximum block range: 50000',
  Swell: 'block range greater than 100 max',
  Somnia: 'block range exceeds 1000',
  Merkle: 'eth_getLogs range is too large, max is 10k blocks',
  Harmony: 'query must be smaller than size 1024',
  'Kava, Cronos': 'maximum [from, to] blocks distance: 2000',
  Celo: 'query exceeds range, retry smaller (max blocks 1000)',
  'dRPC, many': 'query returns too many logs',
  'Infura, blocks': 'range 20000 exceeds limit of 10000',
  BSC: 'limit exceeded',
  'a node out of time': 'query timed out',
  'a Go node out of time': 'context deadline exceeded',
};

const somethingElse = {
  'Alchemy, rate':
    'Your app has exceeded its compute units per second capacity. If you have retries enabled, you can safely ignore this message.',
  'Alchemy, month':
    'Monthly capacity limit exceeded. Visit <url> to upgrade your scaling policy for continued service.',
  'QuickNode, rate':
    '15/second request limit reached - reduce calls per second or upgrade your account at quicknode.com',
  'QuickNode, credits': 'credits limited to 6000/sec',
  'Infura, day': 'daily request count exceeded, request rate limited',
  'Infura, rate': 'project ID request rate exceeded',
  'Chainstack, rate': "You've exceeded the RPS limit available on the current plan.",
  'Ankr, rate': 'Too many requests, reason: call rate limit exhausted, retry in 10s',
  '1RPC, plan': "You've reached the usage limit for your current plan.",
  'geth, head': 'block range extends beyond current head block',
  'Avalanche, head': 'requested from block 5 to block 9 after last accepted block 3',
  'Avalanche, final': 'cannot query unfinalized data',
  'geth, hash': 'unknown block',
  Nethermind: 'One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found.',
  'geth, history': 'pruned history unavailable',
  'geth, selectors': 'exceed max addresses or topics per search position',
  'geth, topics': 'invalid argument 0: exceed max topics',
  Robinhood: '1002 address and topic selectors specified in query, but only 500 are allowed',
  BlastAPI: 'please specify less number of address in the getLogs query',
  'Infura, selectors': 'This query contains 5006 filters. The current limit is 5000.',
  proxyd: 'no backend is currently healthy to serve traffic',
  'a method that is not there': 'the method eth_getLogs does not exist/is not available',
  'no key': 'Unauthorized: You must authenticate your request with an API key.',
  'nothing at all': 'Internal error',
};

describe('a refusal of logs', () => {
  it.each(Object.entries(rangeTooLarge))('says that the range is too large: %s', (_, text) => {
    expect(saysRangeTooLarge(text)).toBe(true);
  });

  it.each(Object.entries(somethingElse))('does not say that the range is too large: %s', (_, text) => {
    expect(saysRangeTooLarge(text)).toBe(false);
  });

  it('with status 429 is about the rate, and with 413 about the size, whatever its text', () => {
    expect(saysRangeTooLarge('block range is too wide', 429)).toBe(false);
    expect(saysRangeTooLarge('Payload', 413)).toBe(true);
  });

  it.each([
    'Batch of more than 3 requests are not allowed on free tier, to use this feature register paid account',
    'batch too large',
    'too many requests in batch',
  ])('is about too many calls in one request: %s', (text) => {
    expect(saysNoBatch(text)).toBe(true);
    expect(saysRangeTooLarge('query returned more than 10000 results')).toBe(true);
  });
});

const stateUnavailable = {
  geth: 'missing trie node 3f1c (path ) state 0x3f1c is not available, not found',
  'geth, by path': 'historical state 3f1c is not available',
  erigon: 'old data not available due to pruning, state is pruned',
  nethermind: 'No state available for block 0x1',
  reth: 'state at block #1 is pruned',
  'reth, proofs': 'distance to target block exceeds maximum proof window',
  besu: 'World state unavailable',
  'anvil, of blocks before its last start': 'BlockOutOfRangeError: block height is 20 but requested was 5',
  'a hosted node': 'this request needs an archive node',
};

describe('a refusal of code', () => {
  it.each(Object.entries(stateUnavailable))('of %s means that the state is not kept', (_, text) => {
    expect(saysStateUnavailable(text)).toBe(true);
  });

  it.each(['Internal error', 'too many requests', 'archive requests: rate limit', 'header not found'])(
    '%j does not',
    (text) => {
      expect(saysStateUnavailable(text)).toBe(false);
    },
  );
});
