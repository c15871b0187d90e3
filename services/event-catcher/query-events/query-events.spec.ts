import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { EventPage } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { ObservedRecord } from '../../../schemas/events/event-catcher/chain-events.ts';
import { codeOf, problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import {
  eventAbi,
  HEAD,
  idOfWatch,
  TOKEN,
  TRANSFER,
  transferAbi,
  transferRecord,
} from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

const ALICE = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const NOTE = 'Note(string indexed,uint256,bool)';
const noteAbi = {
  type: 'event',
  name: 'Note',
  inputs: [
    { name: 'topic', type: 'string', indexed: true },
    { name: 'value', type: 'uint256' },
    { name: '', type: 'bool' },
  ],
};
const OTHER = '0x1111111111111111111111111111111111111111';
const FINALIZED = 15;
const continued = { cursor: expect.any(String), head: HEAD };
const hash = (digit: string): string => `0x${digit.repeat(64)}`;

/** Two records in each of blocks 10…19, in chain order. Every third one is a note, and block 12 was reverted. */
const records: ObservedRecord[] = Array.from({ length: 20 }, (_, at) => {
  const place = { BlockNumber: 10 + Math.floor(at / 2), LogIndex: at % 2 === 0 ? 2 : 11 };
  if (at % 3 !== 0) return transferRecord({ ...place, Data: { from: ALICE, to: TOKEN, value: String(at) } });
  const Data = { topic: { hash: hash('a') }, value: String(at), arg2: at % 2 === 0 };
  return transferRecord({ ...place, WatchId: idOfWatch(noteAbi), EventName: 'Note', EventSignature: NOTE, Data });
});
const isReverted = ({ BlockNumber }: ObservedRecord): boolean => BlockNumber === 12;
const canonical = records.filter((record) => !isReverted(record));

describe('querying events', () => {
  let catcher: CatcherRoutes;
  beforeAll(async () => {
    catcher = await startCatcherRoutes();
    await catcher.register();
    await catcher.register({ eventSignature: NOTE, eventAbi: eventAbi(noteAbi) });
    await catcher.register({ contractAddress: OTHER });
    await catcher.documents.project();
    await catcher.documents.observe([...records.toReversed(), transferRecord({ ContractAddress: OTHER })], isReverted);
    await catcher.documents.advance({ finalized: FINALIZED, watchesUpTo: 100 });
  });
  afterAll(() => catcher.service.close());

  const ask = (query: Record<string, string | number> = {}) => {
    const members = Object.entries({ chainId: 2484, contractAddress: TOKEN, ...query });
    const text = new URLSearchParams(members.map(([name, value]) => [name, String(value)])).toString();
    return catcher.ask(`/api/v1/events?${text}`);
  };
  const page = async (query: Record<string, string | number> = {}): Promise<EventPage> => {
    const answer = await ask(query);
    expect(answer.status).toBe(200);
    return (await answer.json()) as EventPage;
  };
  const ids = ({ items }: EventPage): string[] => items.map(({ Id }) => Id);
  const idsOf = (some: readonly ObservedRecord[]): string[] => some.map(({ Id }) => Id);

  it('returns complete records of the contract in chain order, ten by default', async () => {
    const { items, ...rest } = await page();
    expect(rest).toEqual({ take: 10, skip: 0, total: 18, next: expect.any(String), ...continued });
    expect(items).toEqual(
      canonical
        .slice(0, 10)
        .map((record) => ({ ...record, Status: record.BlockNumber <= FINALIZED ? 'finalized' : 'observed' })),
    );
    expect(Object.keys(items[0] ?? {}).sort()).toEqual([...Object.keys(records[0] ?? {}), 'Status'].sort());
  });

  it('returns the same sequence by skip and by cursor, in both orders, with any page size', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 20 }), fc.constantFrom('asc', 'desc'), async (take, order) => {
        const bySkip: string[] = [];
        const byCursor: string[] = [];
        for (let skip = 0; skip < canonical.length; skip += take)
          bySkip.push(...ids(await page({ take, skip, order })));
        let cursor: string | null | undefined;
        while (cursor !== null) {
          const found = await page({ take, order, ...(cursor && { cursor }) });
          expect(found.total).toBe(canonical.length);
          byCursor.push(...ids(found));
          cursor = found.next;
        }
        const expected = idsOf(order === 'asc' ? canonical : canonical.toReversed());
        expect(bySkip).toEqual(expected);
        expect(byCursor).toEqual(expected);
      }),
      { numRuns: 15 },
    );
  });

  it('has no next page after a last page that is full', async () => {
    expect((await page({ take: 18 })).next).toBeNull();
    expect(await page({ skip: 18 })).toEqual({ items: [], take: 10, skip: 18, total: 18, next: null, ...continued });
  });

  it.each([
    'Transfer',
    'Transfer(address,address,uint256)',
    TRANSFER,
    'event Transfer(address from, address to, uint value);',
  ])('finds events by %s', async (eventSignature) => {
    const transfers = canonical.filter(({ EventName }) => EventName === 'Transfer');
    const found = await page({ eventSignature, take: 100 });
    expect(ids(found)).toEqual(idsOf(transfers));
    expect(found.total).toBe(transfers.length);
  });

  it.each([
    { eventSignature: 'transfer' },
    { eventSignature: 'Transfer(address,address indexed,uint256)' },
    { eventSignature: '' },
    { eventSignature: '(((' },
    { eventSignature: 'Unknown', 'arg.from': ALICE },
    { 'arg.from': ALICE, 'arg.topic': hash('a') },
    { fromBlock: 20 },
    { toBlock: 9 },
    { fromBlock: 15, toBlock: 14 },
    { txHash: hash('f') },
    { status: 'observed', toBlock: FINALIZED },
  ])('finds nothing for %j', async (query) => {
    expect(await page(query)).toEqual({ items: [], take: 10, skip: 0, total: 0, next: null, ...continued });
  });

  const cases: [Record<string, string | number>, (record: ObservedRecord) => boolean][] = [
    [{ fromBlock: 13 }, ({ BlockNumber }) => BlockNumber >= 13],
    [{ toBlock: 13 }, ({ BlockNumber }) => BlockNumber <= 13],
    [{ fromBlock: 13, toBlock: 14 }, ({ BlockNumber }) => BlockNumber === 13 || BlockNumber === 14],
    [
      { txHash: records[1]?.TxHash.toUpperCase().replace('0X', '0x') ?? '' },
      ({ TxHash }) => TxHash === records[1]?.TxHash,
    ],
    [{ 'arg.from': ALICE.toLowerCase() }, ({ EventName }) => EventName === 'Transfer'],
    [{ 'arg.value': '7' }, ({ Data }) => Data['value'] === '7'],
    [{ 'arg.topic': hash('A') }, ({ EventName }) => EventName === 'Note'],
    [{ 'arg.arg2': 'false', 'arg.value': '9' }, ({ Data }) => Data['arg2'] === false && Data['value'] === '9'],
    [{ status: 'finalized' }, ({ BlockNumber }) => BlockNumber <= FINALIZED],
    [{ status: 'observed', fromBlock: 3 }, ({ BlockNumber }) => BlockNumber > FINALIZED],
  ];
  it.each(cases)('finds all that match %j, and counts them', async (query, matches) => {
    for (const order of ['asc', 'desc']) {
      const expected = canonical.filter(matches);
      expect(expected.length).toBeGreaterThan(0);
      const found = await page({ ...query, order, take: 100 });
      expect(ids(found)).toEqual(idsOf(order === 'asc' ? expected : expected.toReversed()));
      expect(found.total).toBe(expected.length);
    }
  });

  it('returns reverted records only if the query asks for them, final or not', async () => {
    const found = await page({ status: 'reverted' });
    expect(ids(found)).toEqual(idsOf(records.filter(isReverted)));
    expect(found.items.every(({ Status }) => Status === 'reverted')).toBe(true);
    expect(found.total).toBe(2);
    expect((await page({ status: 'reverted', fromBlock: 12, toBlock: 12 })).total).toBe(2);
  });

  it('applies the filters of the query to a cursor from another filter', async () => {
    const { next } = await page({ take: 1, order: 'desc' });
    const found = await page({ cursor: next ?? '', order: 'desc', toBlock: 13, take: 100 });
    expect(ids(found)).toEqual(idsOf(canonical.filter(({ BlockNumber }) => BlockNumber <= 13).toReversed()));
  });

  it('refuses a cursor that is not valid, or is of another order or contract', async () => {
    const { next } = await page({ take: 1 });
    if (next === null) throw new Error('there are more');
    const forged = (text: string): string => Buffer.from(text, 'latin1').toString('base64url');
    const signed = Buffer.from(next, 'base64url').toString('latin1');
    const wrong = [
      ...['', 'x', next.slice(1), `${next}=`, `${next}AA`, next.toUpperCase(), forged(''), forged('{"$gt":""}')],
      ...[forged(signed.replace('2484', '1')), forged(`asc ${signed.slice(0, -16)}`)],
    ];
    for (const cursor of wrong) expect(await codeOf(ask({ cursor }))).toBe('cursor_invalid');
    expect(await codeOf(ask({ cursor: next, order: 'desc' }))).toBe('cursor_invalid');
    const elsewhere = { cursor: next, contractAddress: OTHER };
    expect(await codeOf(ask(elsewhere))).toBe('cursor_invalid');
  });

  it.each(['arg.unknown', 'arg.', 'arg.__proto__', 'arg.value.x', 'arg.From'])(
    'refuses %s, which no event has, and names the arguments that there are',
    async (path) => {
      const message = 'is not an argument: there are arg.arg2, arg.from, arg.to, arg.topic, arg.value';
      for (const query of [{ [path]: '1' }, { [path]: '1', 'arg.value': '1' }])
        expect((await problemOfAnswer(await ask(query))).errors).toEqual([{ path, message }]);
    },
  );

  it('refuses an argument that only other events have than the one that is named', async () => {
    expect((await problemOfAnswer(await ask({ eventSignature: 'Note', 'arg.from': ALICE }))).errors).toEqual([
      { path: 'arg.from', message: 'is not an argument: there are arg.arg2, arg.topic, arg.value' },
    ]);
  });
});

describe('querying a contract that was registered a moment ago', () => {
  it('waits until the read model has it', async () => {
    await using catcher = await startCatcherRoutes();
    await catcher.register();
    const answer = catcher.ask(`/api/v1/events?chainId=2484&contractAddress=${TOKEN}`);
    await catcher.documents.project();
    expect((await answer).status).toBe(200);
  });
});

describe('an argument whose name two events give to different types', () => {
  it('is compared by the type of each event, and their records are merged in order', async () => {
    await using catcher = await startCatcherRoutes();
    const textAbi = { type: 'event', name: 'Text', inputs: [{ name: 'value', type: 'string' }] };
    await catcher.register({ eventAbi: eventAbi(transferAbi) });
    await catcher.register({ eventSignature: 'Text(string)', eventAbi: eventAbi(textAbi) });
    await catcher.documents.project();
    const text = (BlockNumber: number, value: string) =>
      transferRecord({
        BlockNumber,
        WatchId: idOfWatch(textAbi),
        EventName: 'Text',
        EventSignature: 'Text(string)',
        Data: { value },
      });
    const some = [
      text(10, '07'),
      transferRecord({ BlockNumber: 11, Data: { value: '7' } }),
      text(12, '07'),
      text(13, '7'),
    ];
    await catcher.documents.observe(some, () => false);
    const found: string[] = [];
    for (const skip of [0, 1, 2, 3]) {
      const answer = await catcher.ask(
        `/api/v1/events?chainId=2484&contractAddress=${TOKEN}&arg.value=07&take=1&skip=${String(skip)}`,
      );
      const { items, total } = (await answer.json()) as EventPage;
      expect(total).toBe(3);
      found.push(...items.map(({ Id }) => Id));
    }
    expect(found).toEqual(some.slice(0, 3).map(({ Id }) => Id));
  });
});
