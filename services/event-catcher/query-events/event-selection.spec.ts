import { describe, expect, it } from '@jest/globals';
import { aWatch } from '../testing/watch-builder.ts';
import { selectEvents } from './event-selection.ts';
import type { EventQueryParameters } from './event-selection.ts';

const transfer = aWatch('Transfer', { name: 'value', type: 'uint256' });
const mint = aWatch('Mint', { name: 'value', type: 'uint8' });
const watches = [transfer, mint];
const { chainId, contractAddress } = transfer;
const FINALIZED = 100;

const select = (asked: Partial<EventQueryParameters>, finalized = FINALIZED) =>
  selectEvents(
    { chainId, contractAddress, appId: 'app_1', take: 10, skip: 0, order: 'asc', arguments: new Map(), ...asked },
    watches,
    finalized,
  );
const idsFrom = (block: string) => `1:${contractAddress.toLowerCase()}:${block}`;
const ids = (gte: string, lt: string) => ({ gte: idsFrom(gte), lt: idsFrom(lt) });

describe('the events that a query selects', () => {
  it('are the canonical ones of the contract, whose number is stored', () => {
    expect(select({})).toEqual({
      ids: ids('000000000000', '999999999999'),
      filters: [{ reverted: false }],
      counted: ['wch_Transfer', 'wch_Mint'],
      watchIds: new Map([
        ['wch_Transfer', 'wch_Transfer'],
        ['wch_Mint', 'wch_Mint'],
      ]),
    });
  });

  it('are those of one event, given by name or signature', () => {
    for (const eventSignature of ['Mint', 'Mint(uint8)', 'event Mint(uint8 value)']) {
      const { filters, counted } = select({ eventSignature });
      expect(filters).toEqual([{ reverted: false, WatchId: { in: ['wch_Mint'] } }]);
      expect(counted).toEqual(['wch_Mint']);
    }
  });

  it('are none if the event is not watched', () => {
    expect(select({ eventSignature: 'Burn' })).toMatchObject({ filters: [], counted: [] });
  });

  it('are those of one transaction, whose number is not stored', () => {
    expect(select({ txHash: '0xab' })).toMatchObject({
      filters: [{ reverted: false, TxHash: '0xab' }],
      counted: undefined,
    });
  });

  it('are those with an argument, whose number is not stored', () => {
    expect(select({ arguments: new Map([['value', '7']]) })).toMatchObject({
      filters: [{ reverted: false, 'Data.value': '7' }],
      counted: undefined,
    });
  });

  it('are those of a range of blocks, last one included, whose number is not stored', () => {
    expect(select({ fromBlock: 7, toBlock: 9 })).toMatchObject({
      ids: ids('000000000007', '000000000010'),
      counted: undefined,
    });
    expect(select({ fromBlock: 7 }).counted).toBeUndefined();
    expect(select({ toBlock: 9 }).counted).toBeUndefined();
  });

  it('are none after the largest block that fits an id', () => {
    expect(select({ fromBlock: 10 ** 13 }).ids).toEqual(ids('999999999999', '999999999999'));
  });

  it('have a stored number, too, if they were reverted', () => {
    expect(select({ status: 'reverted' })).toEqual({
      ids: ids('000000000000', '999999999999'),
      filters: [{ reverted: true }],
      counted: ['wch_Transfer', 'wch_Mint'],
      watchIds: new Map([
        ['wch_Transfer', 'wch_Transfer'],
        ['wch_Mint', 'wch_Mint'],
      ]),
    });
  });

  it('are in blocks up to the finalized one if the query asks for final ones', () => {
    expect(select({ status: 'finalized' })).toMatchObject({
      ids: ids('000000000000', '000000000101'),
      filters: [{ reverted: false }],
      counted: undefined,
    });
    expect(select({ status: 'finalized', toBlock: 50 }).ids).toEqual(ids('000000000000', '000000000051'));
  });

  it('are in blocks after the finalized one if the query asks for observed ones', () => {
    expect(select({ status: 'observed' })).toMatchObject({
      ids: ids('000000000101', '999999999999'),
      filters: [{ reverted: false }],
      counted: undefined,
    });
    expect(select({ status: 'observed', fromBlock: 150 }).ids).toEqual(ids('000000000150', '999999999999'));
  });

  it('are all observed and none final if no finalized block is known', () => {
    expect(select({ status: 'finalized' }, -1).ids).toEqual(ids('000000000000', '000000000000'));
    expect(select({ status: 'observed' }, -1).ids).toEqual(ids('000000000000', '999999999999'));
  });
});
