import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { bareSignature, canonicalSignature, parseEventSignature } from './event-signature.ts';

const canonical = (text: string): string => canonicalSignature(parseEventSignature(text));

describe('an event signature', () => {
  it.each([
    'Transfer(address indexed,address indexed,uint256)',
    'event Transfer(address indexed from, address indexed to, uint256 value);',
    'Transfer(address indexed from,address indexed to,uint value)',
    '  event\tTransfer ( address  indexed from ,address payable indexed to,\n uint256 ) ; ',
  ])('has one canonical form: %s', (text) => {
    expect(canonical(text)).toBe('Transfer(address indexed,address indexed,uint256)');
    expect(bareSignature(parseEventSignature(text))).toBe('Transfer(address,address,uint256)');
  });

  it.each([
    ['Nothing()', 'Nothing()'],
    ['event A(int a, uint[] indexed, bytes1[2][] c)', 'A(int256,uint256[] indexed,bytes1[2][])'],
    [
      'A((uint a, address b)[] indexed orders, tuple(bool, (string s)[3] t) x)',
      'A((uint256,address)[] indexed,(bool,(string)[3]))',
    ],
    ['$_a1(uint8)', '$_a1(uint8)'],
    ['tuple(uint8 tuple)', 'tuple(uint8)'],
    ['event(uint8)', 'event(uint8)'],
    ['event Called(function indexed callback, function[] more)', 'Called(function indexed,function[])'],
    [`${'a'.repeat(2_042)}(bool)`, `${'a'.repeat(2_042)}(bool)`],
  ])('%s has the canonical form %s', (text, expected) => {
    expect(canonical(text)).toBe(expected);
  });

  it('tells whether it is anonymous', () => {
    expect(parseEventSignature('event A(uint8) anonymous;').anonymous).toBe(true);
    expect(parseEventSignature('event A(uint8 anonymous);').anonymous).toBe(false);
  });

  it('is parsed into its names, the types of its parameters, and whether it is anonymous', () => {
    expect(parseEventSignature('event A(uint8[2][] indexed a, (bytes b, string)[3] c) anonymous;')).toEqual({
      name: 'A',
      parameters: [
        {
          name: 'a',
          type: { kind: 'array', of: { kind: 'array', of: { kind: 'uint', bits: 8 }, length: 2 }, length: null },
          indexed: true,
        },
        {
          name: 'c',
          type: {
            kind: 'array',
            of: {
              kind: 'tuple',
              components: [
                { name: 'b', type: { kind: 'bytes', size: null } },
                { name: '', type: { kind: 'string' } },
              ],
            },
            length: 3,
          },
          indexed: false,
        },
      ],
      anonymous: true,
    });
  });

  it('may have four indexed parameters among others', () => {
    const text = `A(${'bool indexed,'.repeat(4)}bool)`;
    expect(canonical(text)).toBe(text);
  });

  it('may be nested sixteen deep', () => {
    for (const type of [
      `bool${'[]'.repeat(16)}`,
      `${'('.repeat(16)}bool${')'.repeat(16)}`,
      `${'('.repeat(6)}bool${'[]'.repeat(10)}${')'.repeat(6)}`,
    ]) {
      expect(canonical(`A(${type})`)).toBe(`A(${type})`);
    }
  });

  it('may have 2,048 characters', () => {
    expect(canonical('A(bool)'.padEnd(2_048))).toBe('A(bool)');
    expect(() => canonical('A(bool)'.padEnd(2_049))).toThrow(/2048 characters/);
  });

  it.each([
    ['', /ends where the name of the event/],
    ['Transfer', /ends where \( is/],
    ['event', /ends where the name/],
    ['A[bool)', /\( is expected.*\[/],
    ['Transfer(', /ends where a type/],
    ['Transfer(address', /ends where \) is/],
    ['Transfer(address[', /ends where a length/],
    ['Transfer(address,)', /\)/],
    ['Transfer(,address)', /,/],
    ['Transfer(address)) ', /\) may not follow/],
    ['Transfer(address);;', /; may not follow/],
    ['Transfer(address) returns (bool)', /returns may not follow/],
    ['Transfer(byte)', /byte .*contracts are address/],
    ['Transfer(uint7)', /uint7/],
    ['Transfer(uint264)', /uint264/],
    ['Transfer(uint08)', /uint08/],
    ['Transfer(bytes0)', /bytes0/],
    ['Transfer(bytes33)', /bytes33/],
    ['Transfer(fixed128x18)', /fixed128x18/],
    ['Transfer(IERC20 token)', /IERC20/],
    ['Transfer(address[0])', /0 .*array/],
    ['Transfer(address[01])', /01 .*array/],
    ['Transfer(address[-1])', /"-"/],
    ['Transfer(address[9999999999])', /9999999999 .*array/],
    ['Transfer(())', /tuple/],
    ['Transfer(uint(bool))', /\)/],
    ['Transfer((uint8 indexed a))', /indexed/],
    ['Transfer(indexed address)', /indexed/],
    ['Transfer(bool indexed indexed)', /indexed/],
    ['Transfer(bool payable to)', /to/],
    ['Transfer(address from to)', /to/],
    ['Trans-fer(address)', /"-"/],
    ['1Transfer(address)', /1Transfer/],
    ['Transfer(address {"$gt": ""})', /"{"/],
    ['A(bool indexed,bool indexed,bool indexed,bool indexed,bool indexed)', /too many/],
    ['Übertrag(address)', /"Ü"/],
    [`A(${'('.repeat(17)}bool${')'.repeat(17)})`, /nested/],
    [`A(bool${'[]'.repeat(17)})`, /nested/],
    [`A(${'('.repeat(7)}bool${'[]'.repeat(10)}${')'.repeat(7)})`, /nested/],
    [`A(${'('.repeat(1_000)}bool${')'.repeat(1_000)})`, /nested/],
    [`A(bool${'[]'.repeat(900)})`, /nested/],
    [`A(${'bool,'.repeat(1_000)}bool)`, /2048 characters/],
    [`${'a'.repeat(2_047)}()`, /2048 characters/],
  ])('is refused if it cannot be read: %s', (text, why) => {
    expect(() => canonical(text)).toThrow(/^event_signature_invalid: the event signature cannot be read: ./);
    expect(() => canonical(text)).toThrow(why);
  });

  it('is either read or refused, whatever the text is', () => {
    const pieces = fc.constantFrom(...'()[],; $'.split(''), 'event', 'tuple', 'indexed', 'uint', 'address', 'a', '2');
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(texts, (text) => {
        try {
          expect(canonical(canonical(text))).toBe(canonical(text));
        } catch (error) {
          expect(String(error)).toContain('event_signature_invalid');
        }
      }),
    );
  });

  it('is the same when it is read from its canonical form, or from any other way to write it', () => {
    const elementary = fc.constantFrom('uint256', 'int8', 'address', 'bool', 'string', 'bytes', 'bytes32');
    const { type } = fc.letrec<{ type: string }>((tie) => ({
      type: fc.oneof(
        { maxDepth: 4 },
        elementary,
        fc.tuple(tie('type'), fc.constantFrom('[]', '[3]')).map((parts) => parts.join('')),
        fc.array(tie('type'), { minLength: 1, maxLength: 3 }).map((parts) => `(${parts.join(',')})`),
      ),
    }));
    const event = fc.array(fc.tuple(type, fc.boolean()), { maxLength: 4 });
    const space = fc.constantFrom(' ', '  ', '\t');
    fc.assert(
      fc.property(event, space, (parameters, gap) => {
        const written = parameters.map(([name, indexed]) => `${name}${indexed ? ' indexed' : ''}`);
        const text = `Some(${written.join(',')})`;
        expect(canonical(text)).toBe(text);
        const loose = `event${gap}Some${gap}(${written.map((part, at) => `${part.replaceAll(',', `${gap}x,${gap}`).replaceAll('uint256', 'uint')}${gap}n${String(at)}`).join(`${gap},`)});`;
        expect(canonical(loose)).toBe(text);
      }),
    );
  });
});
