import { describe, expect, it } from '@jest/globals';
import { AbiCoder } from 'ethers';
import type { AbiParameter } from '../../../../schemas/events/event-catcher/watch-events.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { checksumAddress } from '../../../../shared/chain/identifiers/address.ts';
import { compileDecoder, compileMatcher } from './log-decoder.ts';

/**
 * What solc 0.4.24 emits for this contract; 0.1.6 to 0.4.26 emit the same, but for what is said below. The second `bytes` begins
 * where the first one ends, without padding, and the data ends with the last byte of the last one.
 *
 *     event Two(bytes a, bytes b, uint256 n);
 *     event Strings(string a, string b);
 *     event Mixed(bytes a, uint8[] xs, string s);
 *     event Note(bytes4 indexed sig, address indexed guy, uint256 wad, bytes fax) anonymous;
 *     event Kinds(uint8[] xs, uint8[2] ys, address who, bool ok, bytes2 b2, uint8 u8);
 *     function two(bytes a, bytes b, uint256 n) external { Two(a, b, n); }
 *     function strings(string a, string b) external { Strings(a, b); }
 *     function mixed(bytes a, uint8[] xs, string s) external { Mixed(a, xs, s); }
 *     function note(uint256 x) { Note(msg.sig, msg.sender, x, msg.data); }
 *     function kinds(uint8[] xs, uint8[2] ys, address who, bool ok, bytes2 b2, uint8 u8) external { Kinds(xs, ys, who, ok, b2, u8); }
 */
const word = (digits: string): string => digits.padStart(64, '0');
const parameter = (name: string, type: string, indexed = false): AbiParameter => ({ name, type, indexed });

interface Emitted {
  inputs: AbiParameter[];
  topics?: string[];
  data: string[];
  decoded: JsonObject;
}

const WHO = `0x${'f'.repeat(40)}`;
const ALL_ONES = 'f'.repeat(64);
const kinds = [
  parameter('xs', 'uint8[]'),
  parameter('ys', 'uint8[2]'),
  parameter('who', 'address'),
  parameter('ok', 'bool'),
  parameter('b2', 'bytes2'),
  parameter('u8', 'uint8'),
];
const notValid = (digits: string, type: string) => ({ raw: `0x${digits}`, error: `is not valid ${type}` });

const emitted: Record<string, Emitted> = {
  'two(0xaaaaaaaa, 0xbbbbbbbbbb, 7)': {
    inputs: [parameter('a', 'bytes'), parameter('b', 'bytes'), parameter('n', 'uint256')],
    data: [word('60'), word('84'), word('7'), word('4'), 'aaaaaaaa', word('5'), 'bbbbbbbbbb'],
    decoded: { a: '0xaaaaaaaa', b: '0xbbbbbbbbbb', n: '7' },
  },
  'strings("abcd", "efghi")': {
    inputs: [parameter('a', 'string'), parameter('b', 'string')],
    data: [word('40'), word('64'), word('4'), '61626364', word('5'), '6566676869'],
    decoded: { a: 'abcd', b: 'efghi' },
  },
  'mixed(0xaabbcc, [1, 0x1ff], "hi")': {
    inputs: [parameter('a', 'bytes'), parameter('xs', 'uint8[]'), parameter('s', 'string')],
    data: [
      ...[word('60'), word('83'), word('e3'), word('3'), 'aabbcc', word('2'), word('1'), word('1ff'), word('2')],
      '6869',
    ],
    decoded: { a: '0xaabbcc', xs: ['1', notValid(word('1ff'), 'uint8')], s: 'hi' },
  },
  'note(7)': {
    inputs: [
      parameter('sig', 'bytes4', true),
      parameter('guy', 'address', true),
      parameter('wad', 'uint256'),
      parameter('fax', 'bytes'),
    ],
    topics: [`0x${'5284a245'.padEnd(64, '0')}`, `0x${word('a11ce')}`],
    data: [word('7'), word('40'), word('24'), '5284a245', word('7')],
    decoded: {
      sig: '0x5284a245',
      guy: '0x00000000000000000000000000000000000A11cE',
      wad: '7',
      fax: `0x5284a245${word('7')}`,
    },
  },
  'kinds([1, 0x1ff, 2^256 - 1], [2, 2^256 - 1], …), each of the others with more bits than its type has': {
    inputs: kinds,
    data: [
      ...[word('e0'), word('2'), ALL_ONES, word('f'.repeat(40)), word('1'), 'ffff'.padEnd(64, '0'), word('ff')],
      ...[word('3'), word('1'), word('1ff'), ALL_ONES],
    ],
    decoded: {
      xs: ['1', notValid(word('1ff'), 'uint8'), notValid(ALL_ONES, 'uint8')],
      ys: ['2', notValid(ALL_ONES, 'uint8')],
      who: WHO,
      ok: true,
      b2: '0xffff',
      u8: '255',
    },
  },
  'the same, compiled by solc 0.1.6, with 2 as the bool': {
    inputs: kinds,
    data: [
      ...[word('e0'), word('2'), ALL_ONES, word('f'.repeat(40)), word('2'), ALL_ONES, word('ff')],
      ...[word('3'), word('1'), word('1ff'), ALL_ONES],
    ],
    decoded: {
      xs: ['1', notValid(word('1ff'), 'uint8'), notValid(ALL_ONES, 'uint8')],
      ys: ['2', notValid(ALL_ONES, 'uint8')],
      who: WHO,
      ok: notValid(word('2'), 'bool'),
      b2: notValid(ALL_ONES, 'bytes2'),
      u8: '255',
    },
  },
};

describe('a log of a contract that solc before 0.5 compiled', () => {
  const anonymous = (inputs: AbiParameter[]) => ({ name: 'Old', anonymous: true, inputs });

  it.each(Object.entries(emitted))('is decoded: %s', (_, { inputs, topics = [], data, decoded }) => {
    const log = { topics, data: `0x${data.join('')}` };
    expect(compileDecoder(anonymous(inputs), checksumAddress)(log)).toEqual(
      Object.fromEntries(
        Object.entries(decoded).map(([name, value]) => [name, value === WHO ? checksumAddress(WHO.slice(2)) : value]),
      ),
    );
  });

  it.each(Object.entries(emitted))('is found if its event is anonymous: %s', (_, { inputs, topics = [], data }) => {
    const matches = compileMatcher(anonymous(inputs), null);
    const whole = data.join('');
    expect(matches({ topics, data: `0x${whole}` })).toBe(true);
    expect(matches({ topics, data: `0x${whole.slice(0, -2)}` })).toBe(false);
    expect(matches({ topics: [...topics, `0x${word('1')}`], data: `0x${whole}` })).toBe(false);
  });

  it('is decoded as ethers decodes it, for every length of two values', () => {
    const inputs = [parameter('a', 'bytes'), parameter('b', 'bytes')];
    const decode = compileDecoder(anonymous(inputs), checksumAddress);
    for (let first = 0; first <= 65; first += 1) {
      for (const second of [0, 1, 31, 32, 33]) {
        const [a, b] = ['aa'.repeat(first), 'bb'.repeat(second)];
        const lengths = [0x40, 0x60 + first, first, second].map((number) => word(number.toString(16)));
        const [offsetOfA, offsetOfB, lengthOfA, lengthOfB] = lengths;
        const data = `0x${String(offsetOfA)}${String(offsetOfB)}${String(lengthOfA)}${a}${String(lengthOfB)}${b}`;
        const theirs = AbiCoder.defaultAbiCoder().decode(['bytes', 'bytes'], data, true).toArray();
        expect(Object.values(decode({ topics: [], data }))).toEqual(theirs);
        expect(theirs).toEqual([`0x${a}`, `0x${b}`]);
      }
    }
  });
});
