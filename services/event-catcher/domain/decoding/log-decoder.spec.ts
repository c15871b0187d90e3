import { describe, expect, it } from '@jest/globals';
import { AbiCoder, getAddress, keccak256 } from 'ethers';
import fc from 'fast-check';
import type { AbiParameter, EventFragment } from '../../../../schemas/events/event-catcher/watch-events.ts';
import type { JsonValue } from '../../../../schemas/json.ts';
import { NESTING_MAX } from '../../../../shared/chain/identifiers/abi-type.ts';
import { compileDecoder, compileMatcher, type LogContent } from './log-decoder.ts';
import { DATA_BYTES_MAX } from './data-size.ts';

const checksum = (digits: string): string => getAddress(`0x${digits}`);
const event = (inputs: AbiParameter[], anonymous = false): EventFragment => ({ name: 'Some', anonymous, inputs });
const decode = (inputs: AbiParameter[], log: LogContent, anonymous = true) =>
  compileDecoder(event(inputs, anonymous), checksum)(log);
const word = (digits: string): string => digits.padStart(64, '0');
const decodeData = (types: string[], ...words: string[]) =>
  decode(
    types.map((type) => ({ name: '', type })),
    { topics: [], data: `0x${words.join('')}` },
  );

describe('a decoded log', () => {
  it('has its arguments by name, as JSON', () => {
    const inputs = [
      { name: 'from', type: 'address', indexed: true },
      { name: 'note', type: 'string', indexed: true },
      { name: '', type: 'int8' },
      {
        name: 'order',
        type: 'tuple',
        components: [
          { name: 'open', type: 'bool' },
          { name: '', type: 'bytes2[]' },
        ],
      },
    ];
    const data = AbiCoder.defaultAbiCoder().encode(['int8', 'tuple(bool,bytes2[])'], [-5, [true, ['0xabcd']]]);
    const topics = ['aa', 'd8da6bf26964af9d7eed9e03e53415d37aa96045', 'ff'].map((digits) => `0x${word(digits)}`);
    expect(decode(inputs, { topics, data }, false)).toEqual({
      from: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
      note: { hash: `0x${word('ff')}` },
      arg2: '-5',
      order: { open: true, arg1: ['0xabcd'] },
    });
  });

  it('has a unique and safe key for every argument', () => {
    const names = ['a', '__proto__', 'a', '', 'arg3', 'constructor', 'hasOwnProperty'];
    const inputs = names.map((name) => ({ name, type: 'uint8' }));
    const decoded = decode(inputs, { topics: [], data: `0x${names.map((_, at) => word(String(at))).join('')}` });
    expect(Object.entries(decoded)).toEqual([
      ['a', '0'],
      ['arg1', '1'],
      ['arg2', '2'],
      ['arg3_', '3'],
      ['arg3', '4'],
      ['constructor', '5'],
      ['hasOwnProperty', '6'],
    ]);
    expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
  });

  it.each<[string, string[], string[], RegExp]>([
    ['data that ends early', ['uint256', 'uint256'], [word('1')], /ends early/],
    ['data of half a word', ['uint256'], ['00ff'], /ends early/],
    ['no data', ['uint256'], [], /ends early/],
    ['an offset outside the data', ['string'], [word('400')], /ends early/],
    ['an offset beyond safe integers', ['string'], ['f'.repeat(64)], /out of range/],
    ['an offset with other digits before it', ['string'], [`1${word('20').slice(1)}`, word('0')], /out of range/],
    ['a length longer than the data', ['bytes'], [word('20'), word('21'), word('0')], /ends early/],
    ['bytes that end early', ['bytes'], [word('20'), word('5'), '00'], /ends early/],
    ['a length beyond safe integers', ['uint8[]'], [word('20'), 'f'.repeat(64)], /out of range/],
    ['an array of billions', ['uint8[]'], [word('20'), word('ffffffff')], /longer than the data/],
    ['a fixed array of billions', ['uint8[999999999][999999999]'], [word('1')], /longer than the data/],
    ['characters that are not hex', ['uint256'], ['zz'.repeat(32)], /./],
  ])('is raw with %s', (_, types, words, why) => {
    const data = `0x${words.join('')}`;
    expect(decodeData(types, ...words)).toEqual({ raw: { topics: [], data }, error: expect.stringMatching(why) });
  });

  it.each([
    ['a number too large for its type', 'uint8', word('100')],
    ['a negative number without its sign', 'int8', word('ff')],
    ['an address with a 21st byte', 'address', word(`1${'0'.repeat(40)}`)],
    ['a bool that is 2', 'bool', word('2')],
    ['a bool with other digits before it', 'bool', word('11')],
    ['short bytes with other digits after them', 'bytes2', word('1')],
    ['a function with other digits after it', 'function', word('1')],
  ])('has %s as it came, and the other arguments', (_, type, digits) => {
    const misfit = { raw: `0x${digits}`, error: `is not valid ${type}` };
    expect(decodeData([type, 'uint256'], digits, word('7'))).toEqual({ arg0: misfit, arg1: '7' });
    expect(decodeData([`${type}[]`, 'bool'], word('40'), word('1'), word('1'), digits)).toEqual({
      arg0: [misfit],
      arg1: true,
    });
    const components = [
      { name: 'a', type: 'bool' },
      { name: 'b', type },
    ];
    const inTuple = { topics: [], data: `0x${word('1')}${digits}` };
    expect(decode([{ name: 't', type: 'tuple', components }], inTuple)).toEqual({ t: { a: true, b: misfit } });
    const inTopic = { topics: [`0x${digits}`], data: `0x${word('7')}` };
    const indexed = [
      { name: 'a', type, indexed: true },
      { name: 'b', type: 'uint8' },
    ];
    expect(decode(indexed, inTopic)).toEqual({ a: misfit, b: '7' });
  });

  it('has text that is not UTF-8 as it came, and the other arguments', () => {
    const misfit = { raw: '0x61ff', error: 'is not valid UTF-8' };
    const text = [word('2'), '61ff'.padEnd(64, '0')];
    expect(decodeData(['address', 'string'], word('0'), word('40'), ...text)).toEqual({
      arg0: `0x${'0'.repeat(40)}`,
      arg1: misfit,
    });
    expect(decodeData(['string[]'], word('20'), word('1'), word('20'), ...text)).toEqual({ arg0: [misfit] });
  });

  it('has a value of type function as its 24 bytes', () => {
    const value = `${'ab'.repeat(20)}12345678`;
    expect(decodeData(['function', 'bool'], value.padEnd(64, '0'), word('1'))).toEqual({
      arg0: `0x${value}`,
      arg1: true,
    });
  });

  it('has large numbers in full, whatever their last digits are', () => {
    expect(decodeData(['uint256'], 'f'.repeat(13).padEnd(64, '0'))).toEqual({
      arg0: BigInt(`0x${'f'.repeat(13).padEnd(64, '0')}`).toString(),
    });
    expect(decodeData(['uint256'], word('1fffffffffffff'))).toEqual({ arg0: '9007199254740991' });
  });

  it('has the hash of an indexed value that is longer than a topic, and the value of any other', () => {
    const decodeTopic = (type: string, digits: string) => {
      const topics = [`0x${digits}`];
      return decode([{ name: 'a', type, indexed: true }], { topics, data: '0x' })['a'];
    };
    const hash = 'ab'.repeat(32);
    for (const type of ['string', 'bytes', 'bytes2[]', 'bytes2[1]']) {
      expect(decodeTopic(type, hash)).toEqual({ hash: `0x${hash}` });
    }
    expect(decodeTopic('bytes2', 'abcd'.padEnd(64, '0'))).toBe('0xabcd');
    expect(decodeTopic('bool', word('1'))).toBe(true);
  });

  it('is raw if its number of topics is not that of its event', () => {
    const inputs = [{ name: 'a', type: 'uint8', indexed: true }];
    for (const topics of [[], [`0x${word('1')}`], Array<string>(3).fill(`0x${word('1')}`), [`0x${word('1')}`, '0x']]) {
      expect(decode(inputs, { topics, data: '0x' }, false)).toMatchObject({ raw: { topics, data: '0x' } });
    }
    const error = expect.stringMatching(/1 topics, not 2/);
    expect(decode(inputs, { topics: ['0x'], data: '0x' }, false)).toMatchObject({ error });
  });

  it('is raw if its offsets would turn few words into millions of values', () => {
    // Every element of every array refers to the array itself.
    const words = [word('20'), word('40'), ...Array<string>(64).fill(word('0'))];
    expect(decodeData([`uint8${'[]'.repeat(16)}`], ...words)).toMatchObject({ error: expect.stringMatching(/itself/) });
  });
});

describe('a log that is too large', () => {
  const encoded = (contents: Buffer) =>
    `0x${word('20')}${word(contents.length.toString(16))}${contents.toString('hex').padEnd(Math.ceil(contents.length / 32) * 64, '0')}`;
  const text = (value: string) => encoded(Buffer.from(value));
  const bytes = (value: JsonValue) => Buffer.byteLength(JSON.stringify(value));
  const decodeText = (data: string, type = 'string') => decode([{ name: 'note', type }], { topics: [], data });

  it('is one whose arguments have more than 256 KiB as JSON, whatever its characters take', () => {
    for (const character of ['x', '"', '\0', 'é', '🏝']) {
      const fitting = Math.floor((DATA_BYTES_MAX - bytes({ note: '' })) / (bytes(character) - 2));
      const note = character.repeat(fitting);
      // Compared with ===, because showing a difference of two texts of this length would take minutes.
      expect([character, decodeText(text(note))['note'] === note]).toEqual([character, true]);
      expect(Object.keys(decodeText(text(note + character)))).toEqual(['raw', 'error']);
    }
    const contents = Buffer.alloc(130_000, 'ab', 'hex');
    expect(decodeText(encoded(contents), 'bytes')['note'] === `0x${contents.toString('hex')}`).toBe(true);
  });

  it('is decoded to its topics, the beginning of its data, and the length and hash of all of it', () => {
    const data = text('\0'.repeat(100_000));
    expect(decodeText(data)).toEqual({
      raw: { topics: [], data: data.slice(0, 2 + 2 * 1_024), bytes: (data.length - 2) / 2, hash: keccak256(data) },
      error: 'decoded it has more than 262144 bytes as JSON',
    });
  });

  it('is truncated, too, if it does not fit its event', () => {
    const data = `0x${'f'.repeat(300_000)}`;
    const topics = Array<string>(4).fill(`0x${word('1')}`);
    const decoded = decode([{ name: 'note', type: 'string' }], { topics, data }, false);
    expect(decoded).toMatchObject({ raw: { topics, bytes: 150_000, hash: keccak256(data) } });
    expect(bytes(decoded)).toBeLessThan(3_000);
  });

  it('never exceeds the limit, for every type, name and data', () => {
    const name = fc.oneof({ weight: 9, arbitrary: fc.nat(127) }, fc.nat(2_000)).map((length) => 'n'.repeat(length + 1));
    const tuple = fc.array(name, { minLength: 1, maxLength: NESTING_MAX - 1 }).map((names) =>
      names.reduce<AbiParameter>((component, of) => ({ name: of, type: 'tuple', components: [component] }), {
        name: 'leaf',
        type: 'uint256',
      }),
    );
    const counts = fc.oneof(fc.nat(110), fc.nat(5_000));
    fc.assert(
      fc.property(tuple, counts, fc.constantFrom('0', 'f'), (element, count, digit) => {
        const data = `0x${word('20')}${word(count.toString(16))}${digit.repeat(64).repeat(count)}`;
        const decoded = decode([{ ...element, type: `${element.type}[]` }], { topics: [], data });
        expect(bytes(decoded)).toBeLessThanOrEqual(DATA_BYTES_MAX);
      }),
      {
        examples: [
          [deepest(128), 98, 'f'],
          [deepest(2_000), 98, 'f'],
        ],
      },
    );
  });
});

/** The type whose values take the most bytes as JSON, with names of this length. */
const deepest = (nameLength: number): AbiParameter =>
  Array.from({ length: NESTING_MAX - 1 }, () => 'n'.repeat(nameLength)).reduce<AbiParameter>(
    (component, name) => ({ name, type: 'tuple', components: [component] }),
    { name: 'n'.repeat(nameLength), type: 'uint256' },
  );

describe('the matcher of an event', () => {
  const inputs = [
    { name: 'who', type: 'address', indexed: true },
    { name: 'amount', type: 'uint128', indexed: false },
  ];

  it('recognises a named event by its first topic, whatever else the log holds', () => {
    const topic0 = keccak256('0x01');
    const matches = compileMatcher(event(inputs), topic0);
    expect(matches({ topics: [topic0], data: '0x' })).toBe(true);
    expect(matches({ topics: [keccak256('0x02'), topic0], data: '0x' })).toBe(false);
    expect(matches({ topics: [], data: '0x' })).toBe(false);
  });

  it('recognises an anonymous event by its layout', () => {
    const matches = compileMatcher(event(inputs, true), null);
    const who = `0x${word('a'.repeat(40))}`;
    expect(matches({ topics: [who], data: `0x${word('1')}` })).toBe(true);
    expect(matches({ topics: [keccak256('0x01')], data: `0x${word('1')}` })).toBe(false);
    expect(matches({ topics: [who, who], data: `0x${word('1')}` })).toBe(false);
    expect(matches({ topics: [], data: `0x${word('1')}` })).toBe(false);
    expect(matches({ topics: [who], data: `0x${word('1')}${word('1')}` })).toBe(false);
    expect(matches({ topics: [who], data: `0x${'f'.repeat(64)}` })).toBe(false);
  });

  it('compares the layout of the data without the indexed parameters', () => {
    const three = [...inputs, { name: 'more', type: 'bool', indexed: false }];
    const matches = compileMatcher(event(three, true), null);
    const who = `0x${word('a'.repeat(40))}`;
    expect(matches({ topics: [who], data: `0x${word('7')}${word('1')}` })).toBe(true);
    expect(matches({ topics: [who], data: `0x${word('7')}` })).toBe(false);
    expect(matches({ topics: [who], data: `0x${word('7')}${word('1')}${word('0')}` })).toBe(false);
  });

  it('recognises an anonymous event whatever a sender puts into a text', () => {
    const matches = compileMatcher(event([{ name: 'note', type: 'string' }], true), null);
    expect(matches({ topics: [], data: `0x${word('20')}${word('1')}${'ff'.padEnd(64, '0')}` })).toBe(true);
  });

  it('recognises a log of another anonymous event by numbers, addresses and functions that no compiler writes', () => {
    for (const [type, digits] of [
      ['uint8', word('100')],
      ['int8', word('ff')],
      ['address', `1${'0'.repeat(63)}`],
      ['function', word('1')],
    ] as const) {
      const matches = compileMatcher(event([{ name: 'a', type }], true), null);
      expect(matches({ topics: [], data: `0x${digits}` })).toBe(false);
      const components = [{ name: 'b', type }];
      const matchesTuple = compileMatcher(event([{ name: 'a', type: 'tuple', components }], true), null);
      expect(matchesTuple({ topics: [], data: `0x${digits}` })).toBe(false);
    }
  });

  it('compares the layout of dynamic data', () => {
    const dynamic = [
      { name: 'note', type: 'string', indexed: false },
      { name: 'amount', type: 'uint8', indexed: false },
    ];
    const matches = compileMatcher(event(dynamic, true), null);
    const note = [word('40'), word('7'), word('3'), '616461'.padEnd(64, '0')].join('');
    expect(matches({ topics: [], data: `0x${note}` })).toBe(true);
    expect(matches({ topics: [], data: `0x${note}${word('0')}` })).toBe(true);
    expect(matches({ topics: [], data: `0x${word('7')}${word('7')}` })).toBe(false);
  });
});
