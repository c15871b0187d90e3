import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventRecord } from '../../../../schemas/http/event-catcher/event-record.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { CatcherCaller, transferOf } from './catcher-caller.ts';
import { ProgramOnChain } from '../program-on-chain.ts';

const folder = temporaryFolder();
const TOKEN = '0x00000000000000000000000000000000000A11CE';
const ALICE = `0x${'a1'.repeat(20)}`;
const BOB = `0x${'b0'.repeat(20)}`;
/**
 * Blocks 1 to 10 have two transfers each, to Alice and to Bob, and are final. Blocks 19 to 22 have the same, and are
 * not.
 */
const FINAL = { blocks: 10, transfers: 20 };
const EMPTY = 8;
const NEW_BLOCKS = 4;
const ALL = FINAL.transfers + 2 * NEW_BLOCKS;
const DEPTH = 2;

const upTo = (to: number, from = 1): string[] => Array.from({ length: to - from + 1 }, (_, at) => String(from + at));
const valuesOf = (records: readonly Pick<EventRecord, 'Data'>[]) => records.map(({ Data }) => Data['value']);
const wordOf = (address: string): string => `0x${address.slice(2).padStart(64, '0')}`;

describe('queries of records', () => {
  let anvil: Anvil;
  let ours: ProgramOnChain<RunningProgram>;
  let caller: CatcherCaller;

  beforeAll(async () => {
    anvil = await Anvil.start(join(folder, 'chain'));
    for (let block = 0; block < FINAL.blocks; block += 1) await transferToBoth(2 * block + 1);
    await anvil.call('anvil_mine', `0x${EMPTY.toString(16)}`);
    for (let block = 0; block < NEW_BLOCKS; block += 1) await transferToBoth(FINAL.transfers + 2 * block + 1);
    const start = (dataFolder: string, settings: Record<string, string>) => RunningProgram.start(dataFolder, settings);
    ours = await ProgramOnChain.start({ folder, start, anvil });
    caller = await CatcherCaller.signIn(ours.program.development);
    expect((await caller.register(TOKEN)).status).toBe(201);
    await caller.eventuallyAsOn(anvil, TOKEN);
    await caller.eventually(TOKEN, ({ state }) => state === 'live', 'it must be live');
  });
  afterAll(async () => {
    await ours.stop();
  });

  const transferToBoth = (value: number): Promise<void> =>
    anvil.mine([transferOf(TOKEN, value, { to: wordOf(ALICE) }), transferOf(TOKEN, value + 1, { to: wordOf(BOB) })]);
  const found = async (query: string) => valuesOf(await caller.events(TOKEN, query));
  const text = async (accept: string, query = ''): Promise<string> => {
    const url = ours.program.development.eventUrl + caller.eventsPath(TOKEN, query);
    return (await fetch(url, { headers: { ...caller.caller.bearer, accept } })).text();
  };

  it('find what they ask for', async () => {
    const toAlice = upTo(ALL).filter((value) => Number(value) % 2 === 1);
    expect(await found('')).toEqual(upTo(ALL));
    expect(await found('&order=desc')).toEqual(upTo(ALL).reverse());
    expect(await found(`&arg.to=${ALICE}`)).toEqual(toAlice);
    expect(await found(`&arg.to=${ALICE}&arg.value=7`)).toEqual(['7']);
    expect(await found(`&arg.to=${BOB}&arg.value=7`)).toEqual([]);
    const url = ours.program.development.eventUrl + caller.eventsPath(TOKEN, '&arg.nothing=7');
    expect((await fetch(url, { headers: caller.caller.bearer })).status).toBe(400);
    expect(await found('&fromBlock=3&toBlock=4')).toEqual(upTo(8, 5));
    expect(await found(`&fromBlock=10&arg.to=${ALICE}&order=desc`)).toEqual(['27', '25', '23', '21', '19']);
    expect(await found('&toBlock=0')).toEqual([]);
    expect(await found('&status=finalized')).toEqual(upTo(FINAL.transfers));
    expect(await found('&status=observed')).toEqual(upTo(ALL, FINAL.transfers + 1));
    expect(await found('&status=observed&toBlock=19')).toEqual(['21', '22']);
    const [, second] = await caller.events(TOKEN);
    expect(await caller.events(TOKEN, `&txHash=${String(second?.TxHash)}`)).toEqual([second]);
    expect(await found(`&txHash=${String(second?.TxHash)}&arg.to=${ALICE}`)).toEqual([]);
  });

  it('have pages', async () => {
    const first = await caller.page(TOKEN, '&take=3&skip=5');
    expect(first).toMatchObject({ take: 3, skip: 5, total: ALL });
    expect(valuesOf(first.items)).toEqual(['6', '7', '8']);
    const second = await caller.page(TOKEN, `&take=3&skip=1&cursor=${String(first.next)}`);
    expect(valuesOf(second.items)).toEqual(['10', '11', '12']);
    const last = await caller.page(TOKEN, `&take=2&skip=${String(ALL - 2)}&order=desc`);
    expect([valuesOf(last.items), last.total, last.next]).toEqual([['2', '1'], ALL, null]);
    expect(await caller.page(TOKEN, `&skip=${String(ALL)}`)).toMatchObject({ items: [], total: ALL, next: null });
    const some = await caller.page(TOKEN, `&take=2&arg.to=${BOB}&toBlock=5`);
    expect([valuesOf(some.items), some.total]).toEqual([['2', '4'], 5]);
  });

  it('have everything as CSV and as lines of JSON', async () => {
    const records = await caller.events(TOKEN, `&arg.to=${BOB}&order=desc`);
    const query = `&arg.to=${BOB}&order=desc&take=1`;
    const lines = (await text('application/x-ndjson', query)).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as EventRecord)).toEqual(records);
    const [head = [], ...rows] = (await text('text/csv', query)).split('\r\n').map(fieldsOf);
    expect(rows.pop()).toEqual(['']);
    expect(rows).toEqual(records.map((record) => head.map((column) => inCsv(record, column))));
    expect(head.toSorted()).toEqual(Object.keys(records[0] ?? {}).toSorted());
  });

  it('have the right total as soon as a reorganisation is seen', async () => {
    await anvil.rollBack(DEPTH);
    for (const value of [101, 102, 103]) await anvil.mine([transferOf(TOKEN, value)]);
    await caller.eventuallyAsOn(anvil, TOKEN);
    const total = ALL - 2 * DEPTH + 3;
    expect(await caller.page(TOKEN, '&take=1')).toMatchObject({ total });
    expect(await caller.page(TOKEN, '&take=1&status=reverted')).toMatchObject({ total: 2 * DEPTH });
    expect(await caller.page(TOKEN, '&take=1&status=observed')).toMatchObject({ total: 2 * (NEW_BLOCKS - DEPTH) + 3 });
    expect(await found('&status=reverted&order=desc')).toEqual(upTo(ALL, ALL - 2 * DEPTH + 1).reverse());
    expect(await found('&fromBlock=21')).toEqual(['101', '102', '103']);
    expect(await caller.status(TOKEN)).toMatchObject({ eventsTotal: total });
  });
});

const inCsv = (record: EventRecord, column: string): string =>
  column === 'Data' ? JSON.stringify(record.Data) : String(record[column as Exclude<keyof EventRecord, 'Data'>]);

/** Reads a line of CSV (RFC 4180). */
const fieldsOf = (line: string): string[] =>
  Array.from(line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g), ([, quoted, plain]) =>
    quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'),
  );
