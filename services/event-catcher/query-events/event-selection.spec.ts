import { describe, expect, it } from '@jest/globals';
import type { Searched } from '../../../shared/chain/identifiers/record-terms.ts';
import { aWatch } from '../testing/routes/watch-builder.ts';
import { selectEvents } from './event-selection.ts';
import type { EventQueryParameters } from './event-selection.ts';

const transfer = aWatch('Transfer', { name: 'value', type: 'uint256' });
const mint = aWatch('Mint', { name: 'value', type: 'uint8' });
const watches = [transfer, mint];
const { chainId, contractAddress } = transfer;
const FINALIZED = 100;
const everything: EventQueryParameters = {
  ...{ chainId, contractAddress, caller: { appId: 'app_1', userId: 'usr_1' }, take: 10, skip: 0, order: 'asc' },
  arguments: new Map(),
};

const select = (asked: Partial<EventQueryParameters>, finalized = FINALIZED) =>
  selectEvents({ ...everything, ...asked }, watches, finalized);
const selected = ({ id }: { id: string }, ...searched: Searched[]) => ({ id, searched });

describe('the events that a query selects', () => {
  it('are the canonical ones of the contract', () => {
    expect(select({})).toEqual({
      fromBlock: 0,
      toBlock: Infinity,
      reverted: false,
      isOnePerLog: false,
      watches: [selected(transfer), selected(mint)],
    });
  });

  it('are those of one event, given by name or signature', () => {
    for (const eventSignature of ['Mint', 'Mint(uint8)', 'event Mint(uint8 value)']) {
      expect(select({ eventSignature }).watches).toEqual([selected(mint)]);
    }
  });

  it('are none if the event is not watched', () => {
    expect(select({ eventSignature: 'Burn' }).watches).toEqual([]);
  });

  it('are those of one transaction and with all arguments', () => {
    const txHash = '0xab';
    const value = { argument: 'value', value: '7' };
    expect(select({ txHash }).watches).toEqual([selected(transfer, { txHash }), selected(mint, { txHash })]);
    expect(select({ txHash, arguments: new Map([['value', '7']]) }).watches).toEqual([
      selected(transfer, { txHash }, value),
      selected(mint, { txHash }, value),
    ]);
  });

  it('are one for each log where the layout of an anonymous event may fit logs of others, unless the query says which', () => {
    const anonymous = { ...aWatch('Any', { name: 'value', type: 'uint8' }), topic0: null };
    const isOnePerLog = (asked: Partial<EventQueryParameters>, among = [...watches, anonymous]) =>
      selectEvents({ ...everything, ...asked }, among, FINALIZED).isOnePerLog;
    expect([isOnePerLog({}), isOnePerLog({}, [anonymous])]).toEqual([true, false]);
    expect([isOnePerLog({ eventSignature: 'Any' }), isOnePerLog({ watchId: anonymous.id })]).toEqual([false, false]);
  });

  it.each<[Partial<EventQueryParameters>, finalized: number, fromBlock: number, toBlock: number]>([
    [{ fromBlock: 7, toBlock: 9 }, FINALIZED, 7, 9],
    [{ status: 'finalized' }, FINALIZED, 0, FINALIZED],
    [{ status: 'finalized', toBlock: 50 }, FINALIZED, 0, 50],
    [{ status: 'observed' }, FINALIZED, FINALIZED + 1, Infinity],
    [{ status: 'observed', fromBlock: 150 }, FINALIZED, 150, Infinity],
    [{ status: 'finalized' }, -1, 0, -1],
    [{ status: 'observed' }, -1, 0, Infinity],
    [{ status: 'reverted', fromBlock: 7 }, FINALIZED, 7, Infinity],
  ])('by %j, with %d as finalized block, are those of blocks %d to %d', (asked, finalized, fromBlock, toBlock) => {
    expect(select(asked, finalized)).toMatchObject({ fromBlock, toBlock, reverted: asked.status === 'reverted' });
  });
});
