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
  ])('is the same in one canonical form: %s', (text) => {
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
  ])('%s is %s', (text, expected) => {
    expect(canonical(text)).toBe(expected);
  });

  it('says whether it is anonymous', () => {
    expect(parseEventSignature('event A(uint8) anonymous;').anonymous).toBe(true);
    expect(parseEventSignature('event A(uint8 anonymous);').anonymous).toBe(false);
  });

  it.each([
    '',
    'Transfer',
    'event',
    'Transfer(',
    'Transfer(address',
    'Transfer(address,)',
    'Transfer(,address)',
    'Transfer(address)) ',
    'Transfer(address);;',
    'Transfer(address) returns (bool)',
    'Transfer(byte)',
    'Transfer(uint7)',
    'Transfer(uint264)',
    'Transfer(uint08)',
    'Transfer(bytes0)',
    'Transfer(bytes33)',
    'Transfer(fixed128x18)',
    'Transfer(IERC20 token)',
    'Transfer(address[0])',
    'Transfer(address[01])',
    'Transfer(address[-1])',
    'Transfer(address[9999999999])',
    'Transfer(())',
    'Transfer((uint8 indexed a))',
    'Transfer(indexed address)',
    'Transfer(address from to)',
    'Trans-fer(address)',
    '1Transfer(address)',
    'Transfer(address {"$gt": ""})',
    'A(bool indexed,bool indexed,bool indexed,bool indexed,bool indexed)',
    'Übertrag(address)',
    `A(${'('.repeat(1_000)}bool${')'.repeat(1_000)})`,
    `A(bool${'[]'.repeat(900)})`,
    `A(${'bool,'.repeat(1_000)}bool)`,
    `${'a'.repeat(200)}()`,
  ])('is refused when it cannot be read: %s', (text) => {
    expect(() => canonical(text)).toThrow('event_signature_invalid');
  });

  it('is read or refused, whatever it holds', () => {
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

  it('comes back from its canonical form, and from every way to write it', () => {
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
