import { describe, expect, it } from '@jest/globals';
import { parseEventSignature } from '../../../shared/chain/event-signature.ts';
import { findEvent, fragmentText } from './event-abi.ts';

const parameter = (type: string, name = '', indexed = false) => ({ type, name, indexed, internalType: type });
const transfer = {
  type: 'event',
  name: 'Transfer',
  anonymous: false,
  inputs: [parameter('address', 'from', true), parameter('address', 'to', true), parameter('uint256', 'value')],
};
const SIGNATURE = 'Transfer(address indexed,address indexed,uint256)';
const find = (abi: unknown, signature = SIGNATURE) =>
  findEvent(typeof abi === 'string' ? abi : JSON.stringify(abi), parseEventSignature(signature));

describe('an event in its ABI', () => {
  it('is found among all else, and nothing is kept but what decoding needs', () => {
    const abi = [
      { type: 'function', name: 'Transfer', inputs: [] },
      transfer,
      { ...transfer, name: 'Approval' },
      null,
      7,
    ];
    expect(find(abi)).toEqual({
      name: 'Transfer',
      anonymous: false,
      inputs: [
        { name: 'from', type: 'address', indexed: true },
        { name: 'to', type: 'address', indexed: true },
        { name: 'value', type: 'uint256', indexed: false },
      ],
    });
  });

  it('is told from an event of the same name with other types', () => {
    const other = { ...transfer, inputs: [parameter('bytes32', 'node', true)] };
    expect(find([other, transfer]).inputs).toHaveLength(3);
    expect(find([other, transfer], 'Transfer(bytes32 indexed)').inputs).toHaveLength(1);
  });

  it('has its aliases and tuples normalised', () => {
    const order = { ...parameter('tuple[2][]', 'orders'), components: [parameter('uint', 'id'), parameter('address')] };
    const fragment = find([{ type: 'event', name: 'A', inputs: [order] }], 'A((uint id, address)[2][] orders)');
    expect(fragment).toEqual({
      name: 'A',
      anonymous: false,
      inputs: [
        {
          name: 'orders',
          type: 'tuple[2][]',
          indexed: false,
          components: [
            { name: 'id', type: 'uint256' },
            { name: '', type: 'address' },
          ],
        },
      ],
    });
    expect(fragmentText(fragment)).toBe('A(tuple(uint256 id, address)[2][] orders)');
  });

  it('may be anonymous without the signature saying so', () => {
    const anonymous = { ...transfer, anonymous: true };
    expect(find([anonymous]).anonymous).toBe(true);
    expect(find([transfer, anonymous], `${SIGNATURE} anonymous`).anonymous).toBe(true);
  });

  it.each([
    ['is not valid JSON', '[{', SIGNATURE],
    ['is not a JSON array', transfer, SIGNATURE],
    ['is not a JSON array', '"[]"', SIGNATURE],
    ['no event Transfer', [], SIGNATURE],
    ['no event Transfer', [{ ...transfer, type: 'function' }], SIGNATURE],
    ['no event Transfer', ['event Transfer(address indexed,address indexed,uint256)'], SIGNATURE],
    ['no event transfer', [transfer], 'transfer(address indexed,address indexed,uint256)'],
    [
      'other types: Transfer\\(address indexed,address indexed,uint256\\)',
      [transfer],
      'Transfer(address indexed,address indexed,uint8)',
    ],
    [
      'other parameters indexed: Transfer\\(address indexed,address indexed,uint256\\)',
      [transfer],
      'Transfer(address,address,uint256)',
    ],
    ['2 times', [transfer, transfer], SIGNATURE],
    ['2 times', [transfer, { ...transfer, anonymous: true }], SIGNATURE],
    ['not anonymous', [transfer], `${SIGNATURE} anonymous`],
    ['no inputs', [{ type: 'event', name: 'Transfer' }], SIGNATURE],
    ['cannot be read', [{ ...transfer, inputs: [7] }], SIGNATURE],
    ['cannot be read', [{ ...transfer, inputs: [parameter('address', 'a b')] }], SIGNATURE],
    ['cannot be read', [{ ...transfer, inputs: [parameter('tuple')] }], SIGNATURE],
    ['cannot be read', [{ ...transfer, inputs: [parameter('uint256[0]')] }], SIGNATURE],
    ['cannot be read', [{ ...transfer, inputs: [{ name: 'a', type: { $gt: '' } }] }], SIGNATURE],
    [
      'room for 3 indexed',
      [{ type: 'event', name: 'A', inputs: [0, 1, 2, 3].map(() => parameter('bool', '', true)) }],
      'A(bool indexed,bool indexed,bool indexed,bool indexed)',
    ],
  ])('is refused, saying how they differ: %s', (how, abi, signature) => {
    expect(() => find(abi, signature)).toThrow(new RegExp(`event_abi_mismatch.*${how}`));
  });

  it('is refused at any depth of nesting', () => {
    let input: object = parameter('bool');
    for (let depth = 0; depth < 5_000; depth += 1) input = { type: 'tuple', name: '', components: [input] };
    expect(() => find([{ type: 'event', name: 'Transfer', inputs: [input] }])).toThrow('cannot be read');
    expect(() => find('['.repeat(200_000) + ']'.repeat(200_000))).toThrow('event_abi_mismatch');
  });
});
