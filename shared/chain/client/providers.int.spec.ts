import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../testing/eventually.ts';
import { JsonRpcNode } from '../../testing/chain/json-rpc-node.ts';
import { RpcError } from '../../testing/chain/wire-forms.ts';
import { ChainClient } from './chain-client.ts';
import { JsonRpcChainReader } from './chain-reader.json-rpc.ts';
import { MemoryChain } from '../../testing/chain/chain-reader.memory.ts';
import { PATIENT_LIMITS } from '../../testing/chain/patient-limits.ts';
import { ChainUnavailable, RangeTooLarge, StateUnavailable } from '../chain-reader.ts';

const CHAIN_ID = 2484;
const ADDRESS = `0x${'a1'.repeat(20)}`;
const OTHER_ADDRESS = `0x${'b2'.repeat(20)}`;
const TOPIC = `0x${'01'.repeat(32)}`;
const OTHER_HASH = `0x${'77'.repeat(32)}`;
const FILTER = { addresses: [ADDRESS], topics: [TOPIC] };
const KIB = 1_024;
const MIB = 1_024 * KIB;
/** More than the limit of any answer. */
const TOO_MANY_BYTES = 35 * MIB;
const NO_DATE = '0xfffffffffffff';

const aLog = (data: number) => ({
  address: ADDRESS,
  topics: [TOPIC],
  data: `0x${data.toString(16).padStart(64, '0')}`,
});

type Json = Record<string, unknown>;
/** Changes the answers to one method. */
const changing =
  (changed: string, change: (truth: Json[], params: readonly unknown[]) => unknown): JsonRpcNode['lie'] =>
  (method, truth, params) =>
    method === changed ? change(truth as Json[], params) : truth;
/** Changes every header in an answer. */
const eachHeader =
  (change: (header: Json) => unknown): JsonRpcNode['lie'] =>
  (method, truth) =>
    method === 'eth_getBlockByNumber' && truth !== null ? change(truth as Json) : truth;
const eachLog = (change: (log: Json) => unknown) => changing('eth_getLogs', (logs) => logs.map(change));
const refusing = (message: string) => () => {
  throw new RpcError(message);
};

const there = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw new Error('the value is missing');
  return value;
};

/** Lists nested to this depth. */
const nested = (depth: number): unknown => (depth === 0 ? 0 : [nested(depth - 1)]);

describe('a chain reader with several providers', () => {
  const chain = new MemoryChain(CHAIN_ID);
  const mined = [aLog(0), aLog(1), aLog(2)].map((log) => chain.mine([log, { ...log, address: OTHER_ADDRESS }]));
  const header = there(mined[1]);
  let wrong: JsonRpcNode;
  let right: JsonRpcNode;
  let reader: JsonRpcChainReader;
  beforeEach(async () => {
    wrong = await JsonRpcNode.start(chain);
    right = await JsonRpcNode.start(chain);
    reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [wrong.url, right.url], PATIENT_LIMITS));
  });
  afterEach(async () => {
    reader.close();
    await Promise.all([wrong.stop(), right.stop()]);
  });

  /** Makes a new reader, which knows no fault of a provider yet. */
  const forget = () => {
    reader.close();
    reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [wrong.url, right.url], PATIENT_LIMITS));
  };

  const questions = {
    head: () => reader.head(),
    headers: () => reader.headersByNumber([1, 2, 3]),
    'a header': () => reader.headerByHash(header.hash),
    'a block': () => reader.logsOfBlock(header, FILTER),
    'a range': () => reader.logsOfRange(1, 3, FILTER),
    code: () => reader.hasCode(ADDRESS),
  };
  type Question = keyof typeof questions;
  const truths: Record<Question, unknown> = {
    head: chain.tip,
    headers: chain.headers.slice(1),
    'a header': header,
    'a block': [expect.objectContaining(aLog(1))],
    'a range': [aLog(0), aLog(1), aLog(2)].map((log) => expect.objectContaining(log) as unknown),
    code: true,
  };

  /** Expects the true answer, and that the provider with the false answer is not queried the next time. */
  const expectTruth = async (question: Question) => {
    expect(await questions[question]()).toEqual(truths[question]);
    const { requests } = wrong;
    expect(requests).toBeGreaterThan(0);
    expect(await questions[question]()).toEqual(truths[question]);
    expect(wrong.requests).toBe(requests);
  };

  it('queries only the first provider while its answers are valid', async () => {
    for (const question of Object.keys(questions) as Question[])
      expect(await questions[question]()).toEqual(truths[question]);
    expect(right.requests).toBe(0);
    // A block and a range, and after each all logs of the newest blocks, which show that short answers are whole.
    expect(wrong.asked.filter((method) => method === 'eth_getLogs')).toHaveLength(4);
    // The chain id, the head, three headers at once, a header, a block, a range with its last header, the headers of its
    // other blocks, code.
    expect(wrong.requests).toBe(10);
  });

  const logLies: Record<string, JsonRpcNode['lie']> = {
    'no logs although the bloom has some': changing('eth_getLogs', () => []),
    'a removed log': eachLog((log) => ({ ...log, removed: true })),
    'logs of another block': eachLog((log) => ({ ...log, blockNumber: '0x63' })),
    'logs of another address': eachLog((log) => ({ ...log, address: OTHER_ADDRESS })),
    'logs of another topic': eachLog((log) => ({ ...log, topics: [OTHER_HASH] })),
    'two logs of one index': changing('eth_getLogs', (logs) => logs.flatMap((log) => [log, { ...log, data: '0x' }])),
    'a log without a transaction': eachLog(({ transactionHash: _, ...log }) => log),
    'data that is not hexadecimal': eachLog((log) => ({ ...log, data: '0x0' })),
    'a log that is null': eachLog(() => null),
    'logs that are not a list': changing('eth_getLogs', () => ({})),
    'null instead of logs': changing('eth_getLogs', () => null),
  };
  it.each(Object.entries(logLies))('rejects %s of a block', async (_, lie) => {
    wrong.lie = lie;
    await expectTruth('a block');
  });
  it.each(Object.entries(logLies).slice(1))('rejects %s of a range', async (_, lie) => {
    wrong.lie = lie;
    await expectTruth('a range');
  });

  it.each(['a block', 'a range'] as const)(
    'rejects %s whose logs are of another block of that number',
    async (question) => {
      const lie = eachLog((log) => ({ ...log, blockHash: OTHER_HASH }));
      wrong.lie = (method, ...others) => (method.includes('Receipt') ? [] : lie(method, ...others));
      await expectTruth(question);
    },
  );
  it('rejects a range from a provider that does not have its last block yet', async () => {
    wrong.lie = (method, truth) => {
      if (method === 'eth_getBlockByNumber') return null;
      return method === 'eth_getLogs' ? (truth as unknown[]).slice(0, 1) : truth;
    };
    await expectTruth('a range');
  });
  it('rejects headers of other blocks, and headers that are not valid', async () => {
    wrong.lie = eachHeader((truth) => ({ ...truth, number: '0x9' }));
    await expectTruth('headers');
    wrong.lie = (method, truth) => (method === 'eth_getBlockByHash' ? { ...(truth as Json), hash: OTHER_HASH } : truth);
    forget();
    await expectTruth('a header');
  });
  it.each(['hash', 'parentHash', 'timestamp'])('rejects a head without %s', async (field) => {
    wrong.lie = eachHeader((truth) => ({ ...truth, [field]: undefined }));
    await expectTruth('head');
  });
  it('rejects a head of a time that no date holds', async () => {
    wrong.lie = eachHeader((truth) => ({ ...truth, timestamp: NO_DATE }));
    await expectTruth('head');
  });

  const oversized: [string, Question, JsonRpcNode['lie']][] = [
    ['a chain id of 64 KiB', 'head', changing('eth_chainId', () => `0x${'0'.repeat(64 * KIB)}9b4`)],
    ['a header of more than 2 MiB', 'head', eachHeader((truth) => ({ ...truth, extraData: 'x'.repeat(3 * MIB) }))],
    ['a header that is nested deeply', 'head', eachHeader((truth) => ({ ...truth, extraData: nested(65) }))],
    ['code of 256 KiB', 'code', changing('eth_getCode', () => `0x${'0'.repeat(256 * KIB)}`)],
    ['logs that are nested deeply', 'a range', eachLog((log) => ({ ...log, extra: nested(65) }))],
  ];
  it.each(oversized)('does not read %s', async (_, question, lie) => {
    wrong.lie = lie;
    await expectTruth(question);
  });

  it('reads only the beginning of a refusal', async () => {
    wrong.lie = changing('eth_getLogs', refusing(`${'reduc'.repeat(100_000)} eth_getLogs is limited to a 2 range`));
    await expectTruth('a range');
    const alone = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [wrong.url], PATIENT_LIMITS));
    // The end of the text names two blocks. Half of the range is one.
    await expect(alone.logsOfRange(1, 3, FILTER)).rejects.toMatchObject({ suggested: { blocks: 1 } });
    alone.close();
  });

  it('asks another provider for code at a block whose state the first does not keep, and trusts the first', async () => {
    wrong.lie = changing('eth_getCode', refusing('missing trie node 3f (path ) state 0x3f is not available'));
    expect(await reader.hasCode(ADDRESS, 1)).toBe(true);
    const { requests } = wrong;
    expect(await reader.head()).toEqual(chain.tip);
    expect(wrong.requests).toBe(requests + 1);
    right.lie = wrong.lie;
    await expect(reader.hasCode(ADDRESS, 1)).rejects.toThrow(StateUnavailable);
    right.lie = changing('eth_getCode', refusing('Internal error'));
    await expect(reader.hasCode(ADDRESS, 1)).rejects.toThrow(ChainUnavailable);
  });

  it('rejects a missing head, and code that is not hex', async () => {
    wrong.lie = changing('eth_getBlockByNumber', () => null);
    await expectTruth('head');
    wrong.lie = changing('eth_getCode', () => 1);
    forget();
    await expectTruth('code');
  });
  it('does not query a provider of another chain', async () => {
    wrong.lie = changing('eth_chainId', () => '0x1');
    await expectTruth('head');
    expect(wrong.asked).toEqual(['eth_chainId']);
  });
  it('returns a head that is lower than the last, because only the follower can tell why', async () => {
    const { number } = await reader.head();
    wrong.lie = eachHeader(() => ({ ...header, number: '0x2', timestamp: '0x0' }));
    expect(await reader.head()).toMatchObject({ number: number - 1 });
  });

  const noAnswers: Record<string, (response: ServerResponse, honest: string) => unknown> = {
    'a server error': (response) => response.writeHead(503).end('<html>down</html>'),
    'a page': (response) => response.end('<html>hello</html>'),
    'half an answer': (response, honest) => response.end(honest.slice(0, -5)),
    nothing: (response) => response.end(),
    null: (response) => response.end('null'),
    'a redirect': (response) => response.writeHead(307, { location: right.url }).end(),
    'an answer to another question': (response, honest) => response.end(honest.replaceAll(/"id":\d+/g, '"id":9999')),
    'neither a result nor an error': (response, honest) => response.end(honest.replaceAll('"result"', '"resultat"')),
    'a closed connection': (response) => response.destroy(),
    'an answer without an end': (response) => response.write('['.repeat(TOO_MANY_BYTES)),
    'a refusal of its own form': (response) => response.end('{"error":{"code":-32005},"id":null}'),
  };
  it.each(Object.entries(noAnswers))('queries another provider after %s', async (_, respond) => {
    wrong.respond = respond;
    for (const question of ['head', 'headers', 'a range'] as const) {
      forget();
      await expectTruth(question);
    }
  });
});

describe('a chain reader with one provider', () => {
  const chain = new MemoryChain(CHAIN_ID);
  for (let data = 1; data <= 5; data += 1) chain.mine([aLog(data)]);
  let node: JsonRpcNode;
  let reader: JsonRpcChainReader;
  beforeEach(async () => {
    node = await JsonRpcNode.start(chain);
    reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [node.url], PATIENT_LIMITS));
  });
  afterEach(async () => {
    reader.close();
    await node.stop();
  });

  it('queries it again although it failed, because there is no other', async () => {
    node.lie = refusing('Internal error');
    await expect(reader.head()).rejects.toThrow(/the head of chain 2484: provider 1: Internal error$/);
    node.lie = (_, truth) => truth;
    expect(await reader.head()).toEqual(chain.tip);
  });

  it('accepts that no log passes the filter when the logs of the block account for its bloom', async () => {
    const filter = { addresses: [ADDRESS], topics: [] };
    const header = chain.mine([{ ...aLog(1), topics: [OTHER_HASH] }]);
    const busy = chain.mine(Array.from({ length: 20 }, () => ({ ...aLog(2), address: OTHER_ADDRESS })));
    await reader.head();
    // From then on, it need not be checked whether short answers are whole.
    await reader.logsOfBlock(busy, { addresses: [], topics: [] });
    expect(await reader.logsOfBlock(header, { addresses: [], topics: [] })).toHaveLength(1);
    node.asked.length = 0;
    // The filter names another address and topic whose bits are set, as happens now and then in every bloom.
    node.lie = changing('eth_getLogs', (logs, [asked]) => ((asked as { address?: unknown }).address ? [] : logs));
    expect(await reader.logsOfBlock(header, { addresses: [OTHER_ADDRESS, ADDRESS], topics: [TOPIC] })).toEqual([]);
    expect(node.asked.filter((method) => method === 'eth_getLogs')).toHaveLength(1);
    // The provider's filter fails, but it returns all logs of the block.
    expect(await reader.logsOfBlock(header, filter)).toMatchObject([{ data: aLog(1).data }]);
    expect(node.asked.filter((method) => method === 'eth_getLogs')).toHaveLength(3);
  });

  it('throws RangeTooLarge when the provider reports it, or its answer is too large', async () => {
    node.lie = changing('eth_getLogs', refusing('eth_getLogs is limited to a 5 range'));
    await expect(reader.logsOfRange(1, 5, FILTER)).rejects.toThrow(RangeTooLarge);
    node.lie = changing('eth_getLogs', (logs) =>
      logs.map((log) => ({ ...log, data: `0x${'0'.repeat(TOO_MANY_BYTES / logs.length)}` })),
    );
    await expect(reader.logsOfRange(1, 5, FILTER)).rejects.toThrow(RangeTooLarge);
  });

  it('queries many headers in few requests, as large as the provider accepts', async () => {
    const numbers = Array.from({ length: 250 }, (_, index) => index % 6);
    await reader.head();
    node.requests = 0;
    expect((await reader.headersByNumber(numbers)).map((header) => header?.number)).toEqual(numbers);
    expect(node.requests).toBe(3);
    node.respond = (response, honest) => {
      const isLarge = honest.split('"id"').length > 3;
      response.end(
        isLarge ? '{"id":null,"error":{"message":"Batch of more than 3 requests are not allowed"}}' : honest,
      );
    };
    expect((await reader.headersByNumber(numbers)).map((header) => header?.number)).toEqual(numbers);
  });

  it('accepts as many bytes for a batch as its calls may have, and queries fewer at once when they are too many', async () => {
    node.lie = eachHeader((truth) => ({ ...truth, extraData: 'x'.repeat(1.9 * MIB) }));
    const patient = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [node.url], PATIENT_LIMITS));
    const numbers = Array.from({ length: 20 }, (_, index) => index % 6);
    expect((await patient.headersByNumber(numbers)).map((header) => header?.number)).toEqual(numbers);
    expect(node.requests).toBe(4);
    patient.close();
  });

  it('accepts the answers of a batch in any order', async () => {
    node.respond = (response, honest) =>
      response.end(
        JSON.stringify([JSON.parse(honest)].flat().toReversed()).replace(
          /^\[(.*)\]$/,
          honest.startsWith('[') ? '[$1]' : '$1',
        ),
      );
    expect((await reader.headersByNumber([1, 2, 3])).map((header) => header?.number)).toEqual([1, 2, 3]);
  });

  it('ends its calls in progress when it is closed', async () => {
    node.respond = () => undefined;
    const patient = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [node.url], PATIENT_LIMITS));
    const asked = [patient.head(), patient.logsOfRange(1, 5, FILTER)].map((question) => question.catch(String));
    await eventually(() => node.requests === 2, 10_000, 'the node must receive the requests');
    // The node answers neither request, so only the reader itself can end them.
    patient.close();
    expect(await Promise.all(asked)).toEqual([expect.stringContaining('closed'), expect.stringContaining('closed')]);
  });

  it('authenticates with the credentials of its URL, and shows no secret of the URL', async () => {
    const url = node.url.replace('http://', 'http://operator:pass%2Fword@') + '/v3/s3cretkey99?apikey=t0ken%20token';
    const secretive = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [url], PATIENT_LIMITS));
    node.lie = refusing(
      `s3cretkey99 (t0ken token, operator, pass/word) may not use https://rpc.example/v3/s3cretkey99`,
    );
    const message = await secretive.head().then(String, String);
    expect(message).toContain('<secret> (<secret>, <secret>, <secret>) may not use <url>');
    node.lie = (_, truth) => truth;
    expect(await secretive.head()).toEqual(chain.tip);
    expect(node.authorization).toBe(`Basic ${Buffer.from('operator:pass/word').toString('base64')}`);
    await node.stop();
    expect(await secretive.head().then(String, String)).toMatch(
      /^ChainUnavailable: the head of chain 2484: provider 1: (connect ECONNREFUSED|UND_ERR_SOCKET)$/,
    );
    node = await JsonRpcNode.start(chain);
  });

  it('shows no host of a provider', async () => {
    const urls = ['https://customer-17.rpc.invalid', node.url];
    const nameless = new JsonRpcChainReader(new ChainClient(CHAIN_ID, urls, PATIENT_LIMITS));
    node.lie = refusing('127.0.0.1 is busy');
    const message = await nameless.head().then(String, String);
    expect(message).toMatch(/: provider 1: getaddrinfo E[A-Z_]+; provider 2: <host> is busy$/);
    expect(message).not.toContain('rpc.invalid');
  });
});
