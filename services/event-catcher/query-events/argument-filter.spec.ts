import { describe, expect, it } from '@jest/globals';
import { refusalBy } from '../../../shared/testing/given.ts';
import { aWatch } from '../testing/routes/watch-builder.ts';
import { argumentsOf, selectByArguments } from './argument-filter.ts';

const address = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const hash = `0x${'aB'.repeat(32)}`;
const asked = (...arguments_: [name: string, text: string][]) => new Map(arguments_);

describe('the arguments of a query', () => {
  it('are its members that begin with arg.', () => {
    expect(argumentsOf({ chainId: '1', argue: 'no', 'arg.from': '0x1', 'arg.value': '7' })).toEqual(
      asked(['from', '0x1'], ['value', '7']),
    );
  });

  it('are refused if one is given twice', () => {
    expect(refusalBy(() => argumentsOf({ 'arg.from': ['0x1', '0x2'] }))).toMatchObject({
      code: 'validation_failed',
      errors: [{ path: 'arg.from', message: expect.stringContaining('more than once') }],
    });
  });
});

describe('an argument', () => {
  it.each<[type: string, text: string, value: string | boolean]>([
    ['uint256', '7', '7'],
    ['uint256', '0007', '7'],
    ['uint256', '9'.repeat(78), '9'.repeat(78)],
    ['int8', '-5', '-5'],
    ['address', address.toLowerCase(), address],
    ['bool', 'true', true],
    ['bool', 'false', false],
    ['bytes', '0x', '0x'],
    ['bytes', '0xABcd', '0xabcd'],
    ['bytes4', '0xABCDEF01', '0xabcdef01'],
    ['function', `0x${'Ab'.repeat(24)}`, `0x${'ab'.repeat(24)}`],
    ['string', 'Ada', 'Ada'],
    ['string', '', ''],
  ])('of type %s and value %s is compared in the form of records', (type, text, value) => {
    const watch = aWatch('Some', { name: 'a', type });
    expect(selectByArguments([watch], asked(['a', text]))).toEqual([{ watch, searched: [{ argument: 'a', value }] }]);
  });

  it.each(['string', 'bytes', 'uint8[]', 'tuple'])('of type %s that is indexed is compared by its hash', (type) => {
    const components = [{ name: 'x', type: 'uint8' }];
    const watch = aWatch('Some', { name: 'a', type, indexed: true, ...(type === 'tuple' && { components }) });
    const searched = [{ argument: 'a', hash: hash.toLowerCase() }];
    expect(selectByArguments([watch], asked(['a', hash]))).toEqual([{ watch, searched }]);
    for (const text of ['Ada', hash.slice(0, -1), `${hash}0`, `x${hash}`, hash.slice(2)]) {
      expect(refusalBy(() => selectByArguments([watch], asked(['a', text]))).code).toBe('validation_failed');
    }
  });

  it('of type bytes4 that is indexed is compared by its value', () => {
    const watch = aWatch('Some', { name: 'a', type: 'bytes4', indexed: true });
    expect(selectByArguments([watch], asked(['a', '0xabcdef01']))).toEqual([
      { watch, searched: [{ argument: 'a', value: '0xabcdef01' }] },
    ]);
  });

  it.each([
    ['uint256', ''],
    ['uint256', '1.5'],
    ['uint256', '0x10'],
    ['uint256', ' 7'],
    ['uint256', '7 '],
    ['uint256', '9'.repeat(79)],
    ['int8', '--5'],
    ['address', '0x1'],
    ['address', address.replace('d8d', 'D8d')],
    ['bool', 'yes'],
    ['bytes', 'abcd'],
    ['bytes', '0xabc'],
    ['bytes', '0xzz'],
    ['bytes', 'x0xabcd'],
    ['uint8[]', '[1]'],
    ['uint8[]', hash],
  ])('of type %s cannot be %s', (type, text) => {
    const watch = aWatch('Some', { name: 'a', type });
    expect(refusalBy(() => selectByArguments([watch], asked(['a', text])))).toMatchObject({
      code: 'validation_failed',
      errors: [{ path: 'arg.a', message: expect.stringContaining('type') }],
    });
  });

  it('of a chain with checksums of its own may have such a checksum', () => {
    const watch = { ...aWatch('Some', { name: 'a', type: 'address' }), chainId: 30 };
    const searched = [{ argument: 'a', value: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' }];
    const written = '0x5aaEB6053f3e94c9b9a09f33669435E7ef1bEAeD';
    expect(selectByArguments([watch], asked(['a', written]))).toEqual([{ watch, searched }]);
    expect(() => selectByArguments([{ ...watch, chainId: 1 }], asked(['a', written]))).toThrow('type');
  });

  it('without a name has the name that it has in records', () => {
    const watch = aWatch('Some', { name: '', type: 'uint8' }, { name: '', type: 'uint8' });
    expect(selectByArguments([watch], asked(['arg1', '7']))).toEqual([
      { watch, searched: [{ argument: 'arg1', value: '7' }] },
    ]);
  });

  it('after the first 64 of its event is refused, unless another event has it before', () => {
    const inputs = Array.from({ length: 65 }, (_, at) => ({ name: `a${String(at)}`, type: 'uint8' }));
    const watch = aWatch('Many', ...inputs);
    expect(selectByArguments([watch], asked(['a63', '7']))).toHaveLength(1);
    expect(refusalBy(() => selectByArguments([watch], asked(['a64', '7'])))).toMatchObject({
      errors: [{ path: 'arg.a64', message: expect.stringContaining('first 64 arguments') }],
    });
    const other = aWatch('Other', { name: 'a64', type: 'uint8' });
    expect(selectByArguments([watch, other], asked(['a64', '7'])).map((one) => one.watch)).toEqual([other]);
  });
});

describe('the watches that have the arguments', () => {
  const transfer = aWatch('Transfer', { name: 'from', type: 'address' }, { name: 'value', type: 'uint256' });
  const mint = aWatch('Mint', { name: 'value', type: 'uint8' });
  const note = aWatch('Note', { name: 'value', type: 'string' });

  it('are all watches if the query has no arguments', () => {
    expect(selectByArguments([transfer, note], asked())).toEqual([
      { watch: transfer, searched: [] },
      { watch: note, searched: [] },
    ]);
    expect(selectByArguments([], asked())).toEqual([]);
  });

  it('are those whose events have every argument', () => {
    const value = { argument: 'value', value: '7' };
    const from = { argument: 'from', value: address };
    expect(selectByArguments([mint, transfer], asked(['value', '7'], ['from', address]))).toEqual([
      { watch: transfer, searched: [value, from] },
    ]);
    const burn = aWatch('Burn', { name: 'by', type: 'address' });
    expect(selectByArguments([burn, transfer], asked(['by', address], ['from', address]))).toEqual([]);
  });

  it('are none, and nothing is refused, where there is no watch', () => {
    expect(selectByArguments([], asked(['to', address]))).toEqual([]);
  });

  it('are refused for an argument that no event has, with the names of those that there are', () => {
    expect(refusalBy(() => selectByArguments([mint, transfer], asked(['to', address], ['value', '7'])))).toMatchObject({
      code: 'validation_failed',
      errors: [{ path: 'arg.to', message: 'is not an argument: there are arg.from, arg.value' }],
    });
  });

  it('compare it by the type that each event gives it', () => {
    expect(selectByArguments([transfer, note, mint], asked(['value', '07']))).toEqual([
      { watch: transfer, searched: [{ argument: 'value', value: '7' }] },
      { watch: note, searched: [{ argument: 'value', value: '07' }] },
      { watch: mint, searched: [{ argument: 'value', value: '7' }] },
    ]);
  });

  it('do not include an event for which the value is not valid', () => {
    expect(selectByArguments([transfer, note], asked(['value', 'Ada']))).toEqual([
      { watch: note, searched: [{ argument: 'value', value: 'Ada' }] },
    ]);
  });
});
