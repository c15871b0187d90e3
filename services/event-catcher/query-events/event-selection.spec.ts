import { describe, expect, it } from '@jest/globals';
import { aWatch } from '../testing/watch-builder.ts';
import { selectEvents } from './event-selection.ts';
import type { EventsQuery } from './event-selection.ts';

const transfer = aWatch('Transfer', { name: 'value', type: 'uint256' });
const mint = aWatch('Mint', { name: 'value', type: 'uint8' });
const watches = [transfer, mint];
const { chainId, contractAddress } = transfer;
const FINALIZED = 100;

const select = (asked: Partial<EventsQuery>, finalized = FINALIZED) =>
  selectEvents(
    { chainId, contractAddress, take: 10, skip: 0, order: 'asc', arguments: new Map(), ...asked },
    watches,
    finalized,
  );
const idsFrom = (block: string) => `1:${contractAddress.toLowerCase()}:${block}`;
const ids = (gte: string, lt: string) => ({ gte: idsFrom(gte), lt: idsFrom(lt) });

describe('the events that a query selects', () => {
  it('are those of the contract that stand, and all of them are counted', () => {
    expect(select({})).toEqual({
      ids: ids('000000000000', '999999999999'),
      filters: [{ reverted: false }],
      counted: ['Transfer(uint256)', 'Mint(uint8)'],
    });
  });

  it('are those of one event, by any of its names', () => {
    for (const eventSignature of ['Mint', 'Mint(uint8)', 'event Mint(uint8 value)']) {
      const { filters, counted } = select({ eventSignature });
      expect(filters).toEqual([{ reverted: false, EventSignature: { in: ['Mint(uint8)'] } }]);
      expect(counted).toEqual(['Mint(uint8)']);
    }
  });

  it('are none of an event that is not watched', () => {
    expect(select({ eventSignature: 'Burn' })).toMatchObject({ filters: [], counted: [] });
  });

  it('are those of one transaction, which nobody has counted', () => {
    expect(select({ txHash: '0xab' })).toMatchObject({
      filters: [{ reverted: false, TxHash: '0xab' }],
      counted: undefined,
    });
  });

  it('are those with an argument, which nobody has counted', () => {
    expect(select({ arguments: new Map([['value', '7']]) })).toMatchObject({
      filters: [{ reverted: false, 'Data.value': '7' }],
      counted: undefined,
    });
  });

  it('are those of a range of blocks, with its last one, which nobody has counted', () => {
    expect(select({ fromBlock: 7, toBlock: 9 })).toMatchObject({
      ids: ids('000000000007', '000000000010'),
      counted: undefined,
    });
    expect(select({ fromBlock: 7 }).counted).toBeUndefined();
    expect(select({ toBlock: 9 }).counted).toBeUndefined();
  });

  it('are none beyond the blocks that an id can name', () => {
    expect(select({ fromBlock: 10 ** 13 }).ids).toEqual(ids('999999999999', '999999999999'));
  });

  it('that were reverted are counted too', () => {
    expect(select({ status: 'reverted' })).toEqual({
      ids: ids('000000000000', '999999999999'),
      filters: [{ reverted: true }],
      counted: ['Transfer(uint256)', 'Mint(uint8)'],
    });
  });

  it('that are final lie up to the finalized block', () => {
    expect(select({ status: 'finalized' })).toEqual({
      ids: ids('000000000000', '000000000101'),
      filters: [{ reverted: false }],
      counted: undefined,
    });
    expect(select({ status: 'finalized', toBlock: 50 }).ids).toEqual(ids('000000000000', '000000000051'));
  });

  it('that are not final yet lie behind the finalized block', () => {
    expect(select({ status: 'observed' })).toEqual({
      ids: ids('000000000101', '999999999999'),
      filters: [{ reverted: false }],
      counted: undefined,
    });
    expect(select({ status: 'observed', fromBlock: 150 }).ids).toEqual(ids('000000000150', '999999999999'));
  });

  it('are none and all when no finalized block is known', () => {
    expect(select({ status: 'finalized' }, -1).ids).toEqual(ids('000000000000', '000000000000'));
    expect(select({ status: 'observed' }, -1).ids).toEqual(ids('000000000000', '999999999999'));
  });
});
