import { describe, expect, it } from '@jest/globals';
import { canonicalSignature, parseEventSignature } from '../../../../shared/chain/identifiers/event-signature.ts';
import { refusalBy } from '../../../../shared/testing/given.ts';
import { findEvent, fragmentText, signatureOf, typeOf } from './event-abi.ts';

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

describe('an event of an ABI', () => {
  it('is found among other items, and only what decoding needs is kept', () => {
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

  it('is distinguished from an event of the same name with other types', () => {
    const other = { ...transfer, inputs: [parameter('bytes32', 'node', true)] };
    expect(find([other, transfer]).inputs).toHaveLength(3);
    expect(find([other, transfer], 'Transfer(bytes32 indexed)').inputs).toHaveLength(1);
  });

  it('has its type aliases and tuples normalised', () => {
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

  it('has components only in tuples, and an empty name where none is given', () => {
    const input = { type: 'bool', components: [parameter('bool', 'x')] };
    expect(find([{ type: 'event', name: 'A', inputs: [input] }], 'A(bool)').inputs).toEqual([
      { name: '', type: 'bool', indexed: false },
    ]);
  });

  it('may have as many indexed parameters as a log has topics for, and others that are not indexed', () => {
    const indexed = (count: number) => Array.from({ length: count }, () => parameter('bool', '', true));
    const named = { type: 'event', name: 'A', inputs: [...indexed(3), parameter('bool')] };
    expect(find([named], 'A(bool indexed,bool indexed,bool indexed,bool)').inputs).toHaveLength(4);
    const anonymous = { ...named, anonymous: true, inputs: [...indexed(4), parameter('bool')] };
    expect(find([anonymous], 'A(bool indexed,bool indexed,bool indexed,bool indexed,bool)').inputs).toHaveLength(5);
  });

  it('may be nested sixteen deep', () => {
    const nested = (depth: number): object =>
      depth === 0 ? parameter('bool') : { type: 'tuple', name: '', components: [nested(depth - 1)] };
    const abi = [{ type: 'event', name: 'A', inputs: [nested(16)] }];
    expect(find(abi, `A(${'('.repeat(16)}bool${')'.repeat(16)})`).name).toBe('A');
    const deeper = [{ type: 'event', name: 'A', inputs: [nested(17)] }];
    expect(() => find(deeper, 'A(bool)')).toThrow('cannot be read');
  });

  it('may be anonymous even if the signature does not say so', () => {
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
    ['no event Transfer', ['function Transfer()', 'event Transferred()', '', 'event'], SIGNATURE],
    ['cannot be read: .*IERC20', ['event Transfer(IERC20 token)'], SIGNATURE],
    ['is not a JSON array', { abi: { 0: transfer } }, SIGNATURE],
    ['is not valid JSON', { abi: '[{' }, SIGNATURE],
    [
      'other types: Transfer\\(bytes32\\); another event Transfer of the ABI has a parameter that cannot be read',
      [
        { ...transfer, inputs: [parameter('bytes32')] },
        { ...transfer, inputs: [parameter('IERC20')] },
      ],
      SIGNATURE,
    ],
    ['no event transfer', [transfer], 'transfer(address indexed,address indexed,uint256)'],
    [
      'other types: Transfer\\(address indexed,address indexed,uint256\\)',
      [transfer],
      'Transfer(address indexed,address indexed,uint8)',
    ],
    [
      'other parameters indexed: Transfer\\(address indexed,address indexed,uint256\\)',
      [transfer],
      'Transfer(address indexed,address,uint256)',
    ],
    [
      'other parameters indexed: Transfer\\(address indexed,address indexed,uint256\\), Transfer\\(address indexed,address,uint256\\)',
      [transfer, { ...transfer, inputs: transfer.inputs.map((input, at) => ({ ...input, indexed: at === 0 })) }],
      'Transfer(address,address,uint256)',
    ],
    ['2 times', [transfer, transfer], SIGNATURE],
    ['2 times', [transfer, { ...transfer, anonymous: true }], SIGNATURE],
    ['not anonymous', [transfer], `${SIGNATURE} anonymous`],
    ['no inputs', [{ type: 'event', name: 'Transfer' }], SIGNATURE],
    ['cannot be read', [{ ...transfer, inputs: [7] }], SIGNATURE],
    ['cannot be read', [{ ...transfer, inputs: [parameter('address', 'a b')] }], SIGNATURE],
    ['cannot be read', [{ ...transfer, inputs: [{ type: 'address', name: null }] }], SIGNATURE],
    [
      'indexed: A\\(bool\\), A\\(bool\\)',
      [true, false].map((anonymous) => ({ type: 'event', name: 'A', anonymous, inputs: [parameter('bool')] })),
      'A(bool indexed)',
    ],
    ['cannot be read', [{ ...transfer, inputs: [parameter('tuple')] }], SIGNATURE],
    ['cannot be read', [{ ...transfer, inputs: [parameter('uint256[0]')] }], SIGNATURE],
    ['cannot be read', [{ ...transfer, inputs: [{ name: 'a', type: { $gt: '' } }] }], SIGNATURE],
    [
      'room for 3 indexed',
      [{ type: 'event', name: 'A', inputs: [0, 1, 2, 3].map(() => parameter('bool', '', true)) }],
      'A(bool indexed,bool indexed,bool indexed,bool indexed)',
    ],
  ])('is refused with the difference from the signature: %s', (how, abi, signature) => {
    expect(() => find(abi, signature)).toThrow(new RegExp(`event_abi_mismatch.*${how}`));
  });

  it.each<[string, unknown]>([
    ['an array', [transfer]],
    ['the text of an array', JSON.stringify([transfer])],
    ["a compiler's artifact", { contractName: 'Token', abi: [transfer], bytecode: '0x' }],
    ['the text of an artifact', JSON.stringify({ abi: [transfer] })],
    ['an artifact with the text of an array', { abi: JSON.stringify([transfer]) }],
    ['human-readable fragments', ['event Transfer(address indexed from, address indexed to, uint256 value)']],
    [
      'the text of human-readable fragments among others',
      JSON.stringify([
        'constructor()',
        'function Transfer(address)',
        'event Transfer(bytes32 node)',
        'event  Transfer( address indexed from,address indexed to,uint value );',
      ]),
    ],
    ['human-readable fragments among others', [{ type: 'fallback' }, 'error E()', transfer]],
  ])('is the same in %s', (_, abi) => {
    expect(findEvent(abi, parseEventSignature(SIGNATURE))).toEqual(find([transfer]));
  });

  it('has the names of its tuples in a human-readable fragment, too', () => {
    const orders = {
      ...parameter('tuple[2][]', 'orders'),
      components: [parameter('uint256', 'id'), parameter('address')],
    };
    const abi = [{ type: 'event', name: 'A', anonymous: true, inputs: [orders, parameter('bool[]', 'flags', true)] }];
    const signature = 'A((uint256,address)[2][],bool[] indexed)';
    for (const text of [
      'event A((uint id, address)[2][] orders, bool[] indexed flags) anonymous',
      'event A(tuple(uint256 id, address) [2][] orders, bool[] indexed flags) anonymous;',
    ]) {
      expect(findEvent([text], parseEventSignature(signature))).toEqual(find(abi, signature));
    }
  });

  it('is found beside others of its name that cannot be read', () => {
    const others = [
      { ...transfer, inputs: [parameter('fixed168x10')] },
      { ...transfer, inputs: [{ type: 'address', name: 'a b' }] },
      { type: 'event', name: 'Transfer' },
      'event Transfer(IERC20 token)',
    ];
    expect(find([...others, transfer])).toEqual(find([transfer]));
    expect(find([transfer, ...others])).toEqual(find([transfer]));
  });

  it('may have parameters of type function', () => {
    const abi = [{ type: 'event', name: 'A', inputs: [parameter('function', 'callback', true)] }];
    const fragment = find(abi, 'A(function indexed)');
    expect(fragment.inputs).toEqual([{ name: 'callback', type: 'function', indexed: true }]);
    expect(canonicalSignature(signatureOf(fragment))).toBe('A(function indexed)');
  });

  it('may have names of 2,048 characters', () => {
    const name = 'n'.repeat(2_048);
    const abi = [{ type: 'event', name: 'A', inputs: [parameter('bool', name)] }];
    expect(find(abi, 'A(bool)').inputs).toMatchObject([{ name }]);
    const longer = [{ type: 'event', name: 'A', inputs: [parameter('bool', `${name}n`)] }];
    expect(() => find(longer, 'A(bool)')).toThrow('cannot be read');
    const text = `event A(bool ${name})`;
    expect(findEvent([text], parseEventSignature('A(bool)')).inputs).toMatchObject([{ name }]);
  });

  it('is found by its types alone if the signature marks nothing as indexed', () => {
    const unmarked = 'Transfer(address,address,uint256)';
    expect(find([transfer], unmarked)).toEqual(find([transfer], SIGNATURE));
    const exactly = { ...transfer, inputs: transfer.inputs.map((input) => ({ ...input, indexed: false })) };
    expect(canonicalSignature(signatureOf(find([transfer, exactly], unmarked)))).toBe(unmarked);
  });
});

describe('a refused ABI', () => {
  it('keeps the parse error as its cause', () => {
    expect(refusalBy(() => find('[{')).cause).toBeInstanceOf(Error);
  });

  it('shows at most eight of its events', () => {
    const events = Array.from({ length: 9 }, (_, at) => ({
      ...transfer,
      inputs: [parameter(`bytes${String(at + 1)}`)],
    }));
    const { detail } = refusalBy(() => find(events));
    expect(detail).toContain('Transfer(bytes8)');
    expect(detail).not.toContain('Transfer(bytes9)');
  });
});

describe('a stored fragment', () => {
  it('is shown with everything in which two fragments can differ', () => {
    const inputs = [
      { name: 'from', type: 'address', indexed: true },
      {
        name: 'orders',
        type: 'tuple[2]',
        components: [
          { name: '$$', type: 'uint8' },
          { name: '', type: 'bool' },
        ],
      },
    ];
    expect(fragmentText({ name: 'A', anonymous: true, inputs })).toBe(
      'A(address indexed from, tuple(uint8 $$, bool)[2] orders) anonymous',
    );
  });

  it('has parameters that are not indexed unless they say so', () => {
    const fragment = { name: 'A', anonymous: false, inputs: [{ name: '', type: 'bool' }] };
    expect(signatureOf(fragment).parameters).toEqual([{ name: '', type: { kind: 'bool' }, indexed: false }]);
  });

  it('never has a type that cannot be read', () => {
    expect(() => typeOf({ name: '', type: 'IERC20' })).toThrow('IERC20');
  });
});

describe('a parameter of an ABI', () => {
  const DIMENSIONS = '[]'.repeat(16);
  it.each<[of: string, longest: { name?: string; type?: string }, tooLong: { name?: string; type?: string }]>([
    ['a name', { name: 'n'.repeat(2_048) }, { name: 'n'.repeat(2_049) }],
    ['a type of many dimensions', { type: `bool${DIMENSIONS}` }, { type: `bool${DIMENSIONS}[]` }],
    ['a length of an array', { type: `bool[${'9'.repeat(9)}]` }, { type: `bool[${'9'.repeat(10)}]` }],
  ])('has %s as long as the limit, and no longer one', (_, longest, tooLong) => {
    const signature = `A(${longest.type ?? 'bool'})`;
    const withInput = (input: object) => [{ type: 'event', name: 'A', inputs: [{ name: '', type: 'bool', ...input }] }];
    expect(find(withInput(longest), signature).inputs).toMatchObject([longest]);
    expect(refusalBy(() => find(withInput(tooLong), signature))).toMatchObject({
      code: 'event_abi_mismatch',
      detail: 'the event A of the ABI has a parameter that cannot be read',
    });
  });
});

describe('a hostile ABI', () => {
  const BYTES_MAX = 256 * 1_024;
  const NO_EVENT = 'the ABI has no event Transfer';
  const MANY_EVENTS = 'the ABI has more than 64 events Transfer';
  const MANY_PARAMETERS = 'its parameters are more than 2048';
  const UNREADABLE = 'the event Transfer of the ABI has a parameter that cannot be read';
  const INVALID = 'eventAbi is not valid JSON';
  const times = (count: number, item: unknown) => JSON.stringify(Array.from({ length: count }, () => item));
  const event = (...inputs: unknown[]) => ({ type: 'event', name: 'Transfer', inputs });
  const nested = (depth: number): object =>
    depth === 0 ? parameter('bool') : { name: 'x', type: 'tuple', components: [nested(depth - 1)] };
  const hostile: Record<string, { abi: string; reason: string }> = {
    '10,000 entries': { abi: times(10_000, { type: 'event' }), reason: NO_EVENT },
    'many events of the name': { abi: times(800, event(...transfer.inputs)), reason: MANY_EVENTS },
    'events without parameters': { abi: times(4_500, event()), reason: MANY_EVENTS },
    'wide tuples, as deep as may be': {
      abi: JSON.stringify([event(...Array.from({ length: 180 }, () => nested(15)))]),
      reason: MANY_PARAMETERS,
    },
    'tuples without end': {
      abi: `[{"type":"event","name":"Transfer","inputs":[${'{"type":"tuple","components":['.repeat(5_000)}${']}'.repeat(5_000)}]}]`,
      reason: UNREADABLE,
    },
    'many parameters': {
      abi: JSON.stringify([event(...Array.from({ length: 14_000 }, () => ({ type: 'bool' })))]),
      reason: MANY_PARAMETERS,
    },
    'a huge name': { abi: JSON.stringify([{ ...transfer, name: 'T'.repeat(250_000) }]), reason: NO_EVENT },
    'a huge name of a parameter': {
      abi: JSON.stringify([event({ name: 'n'.repeat(250_000), type: 'bool' })]),
      reason: UNREADABLE,
    },
    'a huge type': { abi: JSON.stringify([event({ type: `uint256${'[]'.repeat(120_000)}` })]), reason: UNREADABLE },
    'lists in lists': { abi: `${'['.repeat(120_000)}${']'.repeat(120_000)}`, reason: NO_EVENT },
    'many human-readable events': {
      abi: times(4_000, 'event Transfer(address indexed,address indexed,uint256)'),
      reason: MANY_EVENTS,
    },
    'huge human-readable events': {
      abi: times(15, `event Transfer(${'bool,'.repeat(3_000)}bool)`),
      reason: MANY_PARAMETERS,
    },
    'a text in an artifact': { abi: JSON.stringify({ abi: '['.repeat(240_000) }), reason: INVALID },
    'a number that is long': { abi: `[${'9'.repeat(250_000)}]`, reason: NO_EVENT },
    'no end': { abi: '[{"type":"event","name":"Transfer","inputs":['.repeat(5_000), reason: INVALID },
  };

  it.each(Object.entries(hostile))('of %s is refused', (_, { abi, reason }) => {
    expect(abi.length).toBeLessThanOrEqual(BYTES_MAX);
    expect(refusalBy(() => find(abi))).toMatchObject({ code: 'event_abi_mismatch', detail: reason });
  });

  it('is not read past the first parameter or event over the limit', () => {
    let read = 0;
    const counted = {
      get type() {
        read += 1;
        return 'bool';
      },
    };
    const many = Array.from({ length: 14_000 }, () => counted);
    const readOf = (abi: unknown[]): number => {
      read = 0;
      refusalBy(() => findEvent(abi, parseEventSignature(SIGNATURE)));
      return read;
    };
    expect(readOf([event(...many)])).toBe(2_048);
    expect(readOf([event({ type: 'tuple', components: many })])).toBe(2_047);
    expect(readOf(Array.from({ length: 100 }, () => event(...many)))).toBe(0);
  });

  it('is no ABI with as many events of a name as any contract has', () => {
    const others = Array.from({ length: 63 }, (_, at) => event(parameter(`bytes32[${String(at + 1)}]`)));
    expect(find([...others, transfer]).inputs).toHaveLength(3);
  });
});
