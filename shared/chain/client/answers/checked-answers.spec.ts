import { describe, expect, it } from '@jest/globals';
import { BLOOM_OF_EVERYTHING, BLOOM_OF_NOTHING } from '../../bloom.ts';
import { checkHeader, checkLogs, InvalidAnswer } from './checked-answers.ts';

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const CONTRACT = `0x${'a'.repeat(40)}`;
const SOME_BLOOM = `0x${'0'.repeat(511)}1`;
const rawHeader = {
  number: '0x10',
  hash: hash('A'),
  parentHash: hash('B'),
  timestamp: '0x65',
  logsBloom: SOME_BLOOM,
  gasUsed: '0x5208',
  miner: CONTRACT,
};
const rawLog = {
  address: CONTRACT.toUpperCase().replace('0X', '0x'),
  topics: [hash('C'), hash('D')],
  data: '0xABCD',
  blockNumber: '0x10',
  blockHash: hash('A'),
  blockTimestamp: '0x65',
  transactionHash: hash('E'),
  transactionIndex: '0x2',
  logIndex: '0x3',
};
const asked = { from: 16, to: 17, addresses: [], topics: [] };
const places = (logs: ReturnType<typeof checkLogs>) => logs.map(({ blockNumber, logIndex }) => [blockNumber, logIndex]);

describe('a header from a provider', () => {
  it('is read as numbers and lower-case hex, with only the fields that are used', () => {
    expect(checkHeader(rawHeader)).toEqual({
      number: 16,
      hash: hash('a'),
      parentHash: hash('b'),
      timestamp: 101,
      logsBloom: SOME_BLOOM,
    });
    expect(checkHeader({ ...rawHeader, logsBloom: `0x${'AB'.repeat(256)}` })?.logsBloom).toBe(`0x${'ab'.repeat(256)}`);
  });

  it('may be of any time that is written with a year of four digits', () => {
    const time = checkHeader({ ...rawHeader, timestamp: '0x3afff4417f' })?.timestamp ?? 0;
    expect(new Date(time * 1_000).toISOString()).toBe('9999-12-31T23:59:59.000Z');
  });

  it('is undefined if the provider does not have the block', () => {
    expect([checkHeader(null), checkHeader(undefined)]).toEqual([undefined, undefined]);
  });

  it('with an empty bloom rules nothing out, unless the block used no gas', () => {
    const bloomWith = (gasUsed: string | undefined) =>
      checkHeader({ ...rawHeader, logsBloom: BLOOM_OF_NOTHING, gasUsed })?.logsBloom;
    for (const gasUsed of ['0x0', '0x', '0x00']) expect(bloomWith(gasUsed)).toBe(BLOOM_OF_NOTHING);
    for (const gasUsed of ['0x5208', '0x10', '1x0', undefined]) expect(bloomWith(gasUsed)).toBe(BLOOM_OF_EVERYTHING);
  });

  it('without a bloom of 256 bytes rules nothing out', () => {
    for (const logsBloom of [undefined, null, '0x', '0x00', `${SOME_BLOOM}0`, `0${SOME_BLOOM}`, 7])
      expect(checkHeader({ ...rawHeader, logsBloom })?.logsBloom).toBe(BLOOM_OF_EVERYTHING);
  });

  it('may be written in other forms that can be read in one way only', () => {
    const forms = {
      number: 16,
      timestamp: `0X${'0'.repeat(62)}65`,
      hash: hash('A').slice(2),
      parentHash: hash('B').toUpperCase(),
      gasUsed: 21_000,
    };
    expect(checkHeader({ ...rawHeader, ...forms })).toEqual(checkHeader(rawHeader));
    const empty = { ...rawHeader, logsBloom: BLOOM_OF_NOTHING };
    expect(checkHeader({ ...empty, gasUsed: 0 })?.logsBloom).toBe(BLOOM_OF_NOTHING);
    expect(checkHeader({ ...empty, gasUsed: { toString: 1 } })?.logsBloom).toBe(BLOOM_OF_EVERYTHING);
  });

  it.each([
    ['a number instead of an object', 7],
    ['a block number that may be hex or not', { ...rawHeader, number: '16' }],
    ['a block number that is none', { ...rawHeader, number: -1 }],
    ['half a block number', { ...rawHeader, number: 16.5 }],
    ['a block number without digits', { ...rawHeader, number: '0x' }],
    ['a block number beyond safe integers', { ...rawHeader, number: `0x${'1'.repeat(14)}` }],
    ['a block number after other characters', { ...rawHeader, number: 'x0x10' }],
    ['a short hash', { ...rawHeader, hash: hash('A').slice(0, -1) }],
    ['a long hash', { ...rawHeader, hash: `${hash('A')}0` }],
    ['a hash after other characters', { ...rawHeader, hash: `0${hash('A')}` }],
    ['a time after the year 9999', { ...rawHeader, timestamp: '0x3afff44180' }],
    ['no parent', { ...rawHeader, parentHash: undefined }],
  ])('is not trusted with %s', (_, answer) => {
    expect(() => checkHeader(answer)).toThrow(InvalidAnswer);
    expect(() => checkHeader(answer)).toThrow(/header/);
  });
});

describe('logs from a provider', () => {
  it('are read as numbers and lower-case hex', () => {
    expect(checkLogs([rawLog], asked)).toEqual([
      {
        address: CONTRACT,
        topics: [hash('c'), hash('d')],
        data: '0xabcd',
        blockNumber: 16,
        blockHash: hash('a'),
        blockTimestamp: 101,
        txHash: hash('e'),
        txIndex: 2,
        logIndex: 3,
      },
    ]);
  });

  it('may have no timestamp and no data, and from zero to four topics', () => {
    const [bare, full] = checkLogs(
      [
        { ...rawLog, blockTimestamp: null, data: '0x', topics: [] },
        { ...rawLog, blockTimestamp: undefined, logIndex: '0x4', topics: Array(4).fill(hash('C')) },
      ],
      asked,
    );
    expect(bare).toMatchObject({ blockTimestamp: undefined, data: '0x', topics: [] });
    expect(full?.topics).toHaveLength(4);
  });

  it('may be written in other forms that can be read in one way only', () => {
    const forms = {
      address: CONTRACT.slice(2).toUpperCase(),
      topics: [hash('C').toUpperCase(), hash('D').slice(2)],
      data: '0XabCD',
      blockNumber: 16,
      blockHash: hash('a').slice(2),
      blockTimestamp: 101,
      transactionHash: hash('e').toUpperCase(),
      transactionIndex: '0x02',
      logIndex: `0x${'0'.repeat(63)}3`,
      removed: undefined,
      extra: { members: [1] },
    };
    expect(checkLogs([{ ...rawLog, ...forms }], asked)).toEqual(checkLogs([rawLog], asked));
  });

  it('are there once where they are repeated word for word', () => {
    const repeated = [rawLog, { ...rawLog, logIndex: '0x4' }, { ...rawLog }, rawLog];
    expect(places(checkLogs(repeated, asked))).toEqual([
      [16, 3],
      [16, 4],
    ]);
  });

  it.each([0, '0x0', 'noon', '101', -1, 1.5, '0x', '0x3afff44180', { now: true }, `0x${'1'.repeat(14)}`])(
    'have no time of their block where they say %p',
    (blockTimestamp) => {
      expect(checkLogs([{ ...rawLog, blockTimestamp }], asked)[0]?.blockTimestamp).toBeUndefined();
    },
  );

  it('are sorted into chain order', () => {
    const logs = [
      { ...rawLog, blockNumber: '0x11', blockHash: hash('F'), logIndex: '0x0' },
      { ...rawLog, logIndex: '0xa' },
      { ...rawLog, logIndex: '0x9' },
    ];
    expect(places(checkLogs(logs, asked))).toEqual([
      [16, 9],
      [16, 10],
      [17, 0],
    ]);
  });

  it.each([
    ['an object instead of a list', { logs: [] }, /list/],
    ['null instead of a log', [null], /log/],
    ['text instead of a log', ['log'], /log/],
    ['a removed log', [{ ...rawLog, removed: true }], /removed/],
    ['no topics', [{ ...rawLog, topics: undefined }], /topics/],
    ['five topics', [{ ...rawLog, topics: Array(5).fill(hash('C')) }], /topics/],
    ['a short topic', [{ ...rawLog, topics: ['0xcc'] }], /topic/],
    ['a long topic', [{ ...rawLog, topics: [`${hash('C')}0`] }], /topic/],
    ['a topic after other characters', [{ ...rawLog, topics: [`0${hash('C')}`] }], /topic/],
    ['a topic that is not a string', [{ ...rawLog, topics: [7] }], /topic/],
    ['a short address', [{ ...rawLog, address: '0xaa' }], /address/],
    ['a long address', [{ ...rawLog, address: `${CONTRACT}0` }], /address/],
    ['an address after other characters', [{ ...rawLog, address: `0${CONTRACT}` }], /address/],
    ['half a byte', [{ ...rawLog, data: '0xabc' }], /data/],
    ['data after other characters', [{ ...rawLog, data: '00xab' }], /data/],
    ['data that is not a string', [{ ...rawLog, data: 7 }], /data/],
    ['a block number that is not hex', [{ ...rawLog, blockNumber: '16' }], /block number/],
    ['a block number beyond safe integers', [{ ...rawLog, blockNumber: `0x${'1'.repeat(14)}` }], /block number/],
    ['a block number after other characters', [{ ...rawLog, blockNumber: '00x10' }], /block number/],
    ['no block hash', [{ ...rawLog, blockHash: null }], /block hash/],
    ['no transaction hash', [{ ...rawLog, transactionHash: '0x' }], /transaction hash/],
    ['no transaction index', [{ ...rawLog, transactionIndex: null }], /transaction index/],
    ['no log index', [{ ...rawLog, logIndex: null }], /log index/],
    ['two logs of one index', [rawLog, { ...rawLog, data: '0x' }], /the same index/],
  ])('are not trusted with %s', (_, answer, why) => {
    expect(() => checkLogs(answer, asked)).toThrow(InvalidAnswer);
    expect(() => checkLogs(answer, asked)).toThrow(why);
  });

  it('must be of the requested blocks', () => {
    expect(checkLogs([rawLog], { ...asked, from: 16, to: 16 })).toHaveLength(1);
    for (const [from, to] of [
      [17, 18],
      [14, 15],
    ] as const) {
      expect(() => checkLogs([rawLog], { ...asked, from, to })).toThrow(/another block/);
    }
    expect(checkLogs([rawLog], { ...asked, blockHash: hash('a') })).toHaveLength(1);
    expect(() => checkLogs([rawLog], { ...asked, blockHash: hash('b') })).toThrow(/another block of that number/);
  });

  it('must be of the requested addresses and first topics', () => {
    const other = `0x${'b'.repeat(40)}`;
    expect(checkLogs([rawLog], { ...asked, addresses: [other, CONTRACT], topics: [hash('c')] })).toHaveLength(1);
    expect(() => checkLogs([rawLog], { ...asked, addresses: [other] })).toThrow(/another address/);
    expect(() => checkLogs([rawLog], { ...asked, topics: [hash('d')] })).toThrow(/another topic/);
    expect(() => checkLogs([{ ...rawLog, topics: [] }], { ...asked, topics: [hash('c')] })).toThrow(/another topic/);
  });

  it('may have the same index in different blocks', () => {
    const next = { ...rawLog, blockNumber: '0x11', blockHash: hash('F') };
    expect(checkLogs([rawLog, next], asked)).toHaveLength(2);
  });
});
