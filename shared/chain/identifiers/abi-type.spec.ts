import { describe, expect, it } from '@jest/globals';
import type { AbiParameter } from '../../../schemas/events/event-catcher/watch-events.ts';
import { elementaryType, isArrayLength, isIdentifier, parameterType, typeName } from './abi-type.ts';

const typed = (type: string, components?: AbiParameter[]): AbiParameter => ({
  name: 'a',
  type,
  ...(components && { components }),
});

describe('an elementary type', () => {
  it.each([
    ['address', { kind: 'address' }],
    ['bool', { kind: 'bool' }],
    ['string', { kind: 'string' }],
    ['function', { kind: 'function' }],
    ['bytes', { kind: 'bytes', size: null }],
    ['bytes1', { kind: 'bytes', size: 1 }],
    ['bytes32', { kind: 'bytes', size: 32 }],
    ['uint', { kind: 'uint', bits: 256 }],
    ['uint8', { kind: 'uint', bits: 8 }],
    ['uint256', { kind: 'uint', bits: 256 }],
    ['int', { kind: 'int', bits: 256 }],
    ['int24', { kind: 'int', bits: 24 }],
  ])('%s is read', (name, type) => {
    expect(elementaryType(name)).toEqual(type);
  });

  it.each(['', 'byte', 'bytes0', 'bytes33', 'bytes08', 'uint7', 'uint264', 'uint08', 'uint1000', 'xuint8', 'uint8x'])(
    'is not %j',
    (name) => {
      expect(elementaryType(name)).toBeUndefined();
    },
  );
});

describe('the type of a parameter', () => {
  const leaf = typed('bool');
  const nested = (depth: number, inner = leaf): AbiParameter =>
    Array.from({ length: depth }).reduce<AbiParameter>((component) => typed('tuple', [component]), inner);

  it('is written as in signatures', () => {
    const order = typed('tuple[2][]', [typed('uint'), typed('bytes'), typed('bytes4[]'), typed('tuple', [leaf])]);
    for (const [parameter, name] of [
      [typed('uint'), 'uint256'],
      [typed('int8[][3]'), 'int8[][3]'],
      [typed('function[]'), 'function[]'],
      [order, '(uint256,bytes,bytes4[],(bool))[2][]'],
    ] as const) {
      const type = parameterType(parameter);
      expect(type && typeName(type)).toBe(name);
    }
  });

  it('has the names of the components of a tuple', () => {
    const components = [{ name: 'a', type: { kind: 'bool' } }];
    expect(parameterType(typed('tuple', [leaf]))).toEqual({ kind: 'tuple', components });
  });

  it.each([
    ['of a contract', typed('IERC20')],
    ['after other characters', typed('!bool')],
    ['before other characters', typed('bool[]!')],
    ['with a length of zero', typed('bool[0]')],
    ['of which one length is zero', typed('bool[0][2]')],
    ['of an empty tuple', typed('tuple', [])],
    ['of a tuple without components', typed('tuple')],
    ['of a tuple with an unknown type in it', typed('tuple', [leaf, typed('IERC20')])],
    ['with seventeen arrays', typed(`bool${'[]'.repeat(17)}`)],
    ['with seventeen tuples', nested(17)],
    ['with six tuples of eleven arrays', nested(6, typed(`bool${'[]'.repeat(11)}`))],
    ['with arrays of tuples, together seventeen', typed('tuple[][]', [nested(15)])],
  ])('cannot be read: %s', (_, parameter) => {
    expect(parameterType(parameter)).toBeUndefined();
  });

  it.each([
    ['sixteen arrays', typed(`bool${'[]'.repeat(16)}`)],
    ['sixteen tuples', nested(16)],
    ['six tuples of ten arrays', nested(6, typed(`bool${'[]'.repeat(10)}`))],
    ['arrays of tuples, together sixteen', typed('tuple[][]', [nested(13)])],
  ])('may be nested sixteen deep: %s', (_, parameter) => {
    expect(parameterType(parameter)).toBeDefined();
  });
});

it('the name of an event or a parameter is an identifier of at most 2,048 characters', () => {
  for (const text of ['a', '_', '$', 'Transfer', 'a1_$', 'a'.repeat(2_048)]) expect(isIdentifier(text)).toBe(true);
  for (const text of ['', '1a', 'a b', 'é', ' a', 'a\n', 'a'.repeat(2_049)]) expect(isIdentifier(text)).toBe(false);
});

it('the length of an array has one to nine digits', () => {
  for (const text of ['1', '10', '999999999']) expect(isArrayLength(text)).toBe(true);
  for (const text of ['', '0', '01', '-1', '1e3', '1000000000', 'x1']) expect(isArrayLength(text)).toBe(false);
});
