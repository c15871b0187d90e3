import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ObservedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { EventPage } from '../../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { WatchedContract } from '../../../../schemas/http/event-catcher/watched-contract.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { codeOf } from '../../../../shared/testing/http/problem-of-answer.ts';
import { eventAbi, idOfWatch, TOKEN, transferAbi, transferRecord } from '../../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../../testing/routes/catcher-routes.module.ts';
import { casesOf } from '../../../../shared/testing/cases.ts';

/** Each asks some hundred queries. */
const RUNS = casesOf(6);
const STREAM = `chain-2484-${TOKEN.toLowerCase()}`;
const EVENTS = `/api/v1/events?chainId=2484&contractAddress=${TOKEN}`;
/** Another fragment of the same event, another event, and an anonymous one that matches the same logs. */
const renamed = { ...transferAbi, inputs: transferAbi.inputs.map((input) => ({ ...input, name: `${input.name}_` })) };
const other = { type: 'event', name: 'Note', anonymous: false, inputs: [{ name: 'value', type: 'uint256' }] };
const decoy = { ...transferAbi, name: 'Decoy', anonymous: true };
const abis = [
  { abi: transferAbi, eventSignature: 'Transfer(address indexed,address indexed,uint256)' },
  { abi: renamed, eventSignature: 'Transfer(address indexed,address indexed,uint256)' },
  { abi: other, eventSignature: 'Note(uint256)' },
  { abi: decoy, eventSignature: 'Decoy(address indexed,address indexed,uint256)' },
];
const callers = [
  { app: 'app_1', user: 'usr_1' },
  { app: 'app_2', user: 'usr_2' },
];

/** Appends what a follower would have stored, and projects everything. */
const appending = ({ foundation, documents }: CatcherRoutes) => {
  const { eventStore } = foundation;
  return async (type: 'ChainEventObserved' | 'ChainEventReverted', records: readonly ObservedRecord[]) => {
    const [newest] = await eventStore.read(STREAM, { direction: 'backwards', limit: 1 });
    const events = records.map((data) => anEvent({ type, data, time: foundation.clock.now() }));
    if (events.length > 0) await eventStore.append(STREAM, newest?.revision ?? -1, events);
    await documents.project();
  };
};

const queries = [
  ...['/api/v1/contracts?take=3', '/api/v1/contracts?skip=1&take=2', `/api/v1/contracts?contractAddress=${TOKEN}`],
  '/api/v1/contracts?chainId=1',
  ...abis.map(({ abi }) => `/api/v1/contracts/${idOfWatch(abi)}`),
  ...['', '&order=desc&take=2', '&status=reverted', '&status=observed', '&status=finalized'].map((one) => EVENTS + one),
  ...['Transfer', 'Note', 'Decoy', 'Transfer(address,address,uint256)', 'Unknown'].map(
    (name) => `${EVENTS}&eventSignature=${name}`,
  ),
  ...abis.map(({ abi }) => `${EVENTS}&watchId=${idOfWatch(abi)}&skip=1`),
  ...['&arg.value=1', '&arg.value_=2', '&arg.nothing=1', '&fromBlock=11&toBlock=12'].map((one) => EVENTS + one),
  `${EVENTS}&arg.value=2&status=reverted`,
];

type Told = Record<string, unknown>;

/** An answer, but for what is no lasting event, and for how a refusal is worded. */
const told = async (answer: Response): Promise<Told> => {
  const { status } = answer;
  const body = (await answer.json()) as Partial<EventPage> & { items?: JsonObject[]; code?: string };
  if (status !== 200) return { status, code: body.code };
  const state = (one: object) => ('state' in one ? { ...one, state: one.state === 'paused' ? 'paused' : null } : one);
  if (!body.items) return { status, ...state(body) };
  const { items, next, cursor, ...rest } = body;
  return { status, ...rest, items: items.map(state), next: typeof next === 'string', cursor: typeof cursor };
};

const change = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('register' as const),
      who: fc.nat(1),
      what: fc.nat(3),
      startBlock: fc.integer({ min: 5, max: 10 }),
    }),
  },
  fc.record({
    does: fc.constantFrom('drop' as const, 'pause' as const, 'resume' as const),
    who: fc.nat(1),
    what: fc.nat(3),
  }),
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constantFrom('observe' as const, 'revert' as const),
      what: fc.nat(3),
      blocks: fc.uniqueArray(fc.integer({ min: 10, max: 13 }), { minLength: 1, maxLength: 3 }),
      value: fc.nat(2),
      Origin: fc.constantFrom('backfill' as const, 'live' as const, 'replay' as const),
    }),
  },
);
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

const apply = async (catcher: CatcherRoutes, made: Change): Promise<void> => {
  const append = appending(catcher);
  const { abi, eventSignature } = abis[made.what] ?? { abi: transferAbi, eventSignature: '' };
  const id = idOfWatch(abi);
  if ('blocks' in made) {
    const records = made.blocks.map((BlockNumber) =>
      transferRecord({
        ...{ BlockNumber, WatchId: id, EventName: abi.name, Origin: made.Origin },
        Data: { [abi.inputs.at(-1)?.name ?? '']: String(made.value) },
      }),
    );
    await append(made.does === 'observe' ? 'ChainEventObserved' : 'ChainEventReverted', records);
    return;
  }
  const caller = callers[made.who] ?? { app: 'app_1', user: 'usr_1' };
  if (made.does === 'register') {
    const { startBlock } = made;
    await catcher.register({ eventSignature, eventAbi: eventAbi(abi), startBlock }, caller.app, caller.user);
  } else if (made.does === 'drop') await catcher.ask(`/api/v1/contracts/${id}`, { method: 'DELETE', ...caller });
  else await catcher.ask(`/api/v1/contracts/${id}/${made.does}`, { method: 'POST', ...caller });
  await append('ChainEventObserved', []);
};

/** Asks every query, each as one of the callers, in round. */
const askAll = async (catcher: CatcherRoutes, round: number, asOf: string): Promise<Told[]> => {
  const answers: Told[] = [];
  for (const [at, query] of queries.entries()) {
    const path = asOf === '' ? query : `${query}${query.includes('?') ? '&' : '?'}asOf=${asOf}`;
    const caller = callers[(round + at) % callers.length];
    const answer = await catcher.ask(path, caller);
    if (asOf !== '') expect([path, answer.headers.get('x-as-of')]).toEqual([path, asOf]);
    answers.push({ query, ...(await told(answer)) });
  }
  return answers;
};

describe('a query as of an earlier position', () => {
  it('answers what it answered when the head was there, whatever happened since', () =>
    fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 3, maxLength: 10 }), async (changes) => {
        await using catcher = await startCatcherRoutes();
        await catcher.documents.project();
        const answered: { position: number; round: number; answers: Told[] }[] = [];
        for (const [round, made] of changes.entries()) {
          await apply(catcher, made);
          const position = await catcher.foundation.eventStore.head();
          answered.push({ position, round, answers: await askAll(catcher, round, '') });
        }
        for (const { position, round, answers } of answered)
          expect(await askAll(catcher, round, String(position))).toEqual(answers);
      }),
      { numRuns: RUNS },
    ));
});

describe('pages as of one position', () => {
  const block = (BlockNumber: number) => transferRecord({ BlockNumber });
  const started = async () => {
    const catcher = await startCatcherRoutes();
    await catcher.register();
    const append = appending(catcher);
    await append('ChainEventObserved', [10, 11, 12, 13, 14].map(block));
    return { catcher, append, position: await catcher.foundation.eventStore.head() };
  };
  const page = async (catcher: CatcherRoutes, query: string) => {
    const answer = await catcher.ask(`${EVENTS}&take=2${query}`);
    expect(answer.status).toBe(200);
    const { items, total, next } = (await answer.json()) as EventPage;
    return { blocks: items.map(({ BlockNumber }) => BlockNumber), total, next, asOf: answer.headers.get('x-as-of') };
  };

  it('show the state of the first page, while records arrive and are reverted, in both orders', async () => {
    for (const [order, blocks] of [
      ['asc', [10, 11, 12, 13, 14]],
      ['desc', [14, 13, 12, 11, 10]],
    ] as const) {
      const { catcher, append, position } = await started();
      const asked = `&order=${order}&asOf=${String(position)}`;
      const first = await page(catcher, asked);
      await append('ChainEventReverted', [11, 13, 10].map(block));
      await append('ChainEventObserved', [9, 15].map(block));
      const second = await page(catcher, `${asked}&cursor=${first.next ?? ''}`);
      await append('ChainEventReverted', [12, 14].map(block));
      // A cursor alone says which state it is of.
      const third = await page(catcher, `&order=${order}&cursor=${second.next ?? ''}`);
      expect([...first.blocks, ...second.blocks, ...third.blocks]).toEqual(blocks);
      expect(third.next).toBeNull();
      for (const { total, asOf } of [first, second, third]) expect([total, asOf]).toEqual([5, String(position)]);
      await catcher.service.close();
    }
  });

  it('are of the position that their cursor has, where a time means a later one by now', async () => {
    const { catcher, append, position } = await started();
    const { clock, eventStore } = catcher.foundation;
    const asOf = new Date(clock.now()).toISOString();
    const first = await page(catcher, `&asOf=${asOf}`);
    expect(first.asOf).toBe(String(position));
    await append('ChainEventReverted', [12].map(block));
    const second = await page(catcher, `&asOf=${asOf}&cursor=${first.next ?? ''}`);
    expect([second.blocks, second.asOf]).toEqual([[12, 13], String(position)]);
    expect((await page(catcher, `&asOf=${asOf}`)).asOf).toBe(String(await eventStore.head()));
    await catcher.service.close();
  });

  it('have a cursor that is refused for another state, and for none', async () => {
    const { catcher, append, position } = await started();
    await append('ChainEventObserved', [block(15)]);
    const earlier = await page(catcher, `&asOf=${String(position)}`);
    const present = await page(catcher, '');
    const head = String(await catcher.foundation.eventStore.head());
    expect(await codeOf(catcher.ask(`${EVENTS}&asOf=${head}&cursor=${earlier.next ?? ''}`))).toBe('cursor_invalid');
    expect(await codeOf(catcher.ask(`${EVENTS}&asOf=${head}&cursor=${present.next ?? ''}`))).toBe('cursor_invalid');
    await catcher.service.close();
  });

  it('are exported whole', async () => {
    const { catcher, append, position } = await started();
    await append('ChainEventReverted', [11].map(block));
    const headers = { accept: 'application/x-ndjson' };
    const answer = await catcher.ask(`${EVENTS}&asOf=${String(position)}`, { headers });
    const lines = (await answer.text()).trim().split('\n');
    const records = lines.map((line) => JSON.parse(line) as EventPage['items'][number]);
    expect(records.map(({ BlockNumber, Status }) => [BlockNumber, Status])).toEqual(
      [10, 11, 12, 13, 14].map((at) => [at, 'observed']),
    );
    expect(answer.headers.get('x-as-of')).toBe(String(position));
    await catcher.service.close();
  });
});

describe('a query as of the time when', () => {
  const toldAsOf = async (catcher: CatcherRoutes, query: string, asOf: number, caller = {}) => {
    const answer = await catcher.ask(`${EVENTS}${query}&asOf=${String(asOf)}`, caller);
    const { items } = (await answer.json()) as EventPage;
    return items.map(({ WatchId, Data, Origin, Status }) => [WatchId, Data['value'] ?? Data['value_'], Origin, Status]);
  };
  const own = idOfWatch(transferAbi);
  const foreign = idOfWatch(renamed);

  it('a provider told something else of a log has what was told, and is found by it', async () => {
    await using catcher = await startCatcherRoutes();
    await catcher.register();
    const append = appending(catcher);
    const wrong = transferRecord({ Data: { value: '1' }, Origin: 'live' });
    const right = transferRecord({ Data: { value: '2' }, Origin: 'replay' });
    const positions: number[] = [];
    for (const [type, record] of [
      ['ChainEventObserved', wrong],
      ['ChainEventReverted', wrong],
      ['ChainEventObserved', right],
    ] as const) {
      await append(type, [record]);
      positions.push(await catcher.foundation.eventStore.head());
    }
    const [first = 0, second = 0, third = 0] = positions;
    for (const query of ['', '&arg.value=1'])
      expect(await toldAsOf(catcher, query, first)).toEqual([[own, '1', 'live', 'observed']]);
    expect(await toldAsOf(catcher, '&arg.value=2', first)).toEqual([]);
    expect(await toldAsOf(catcher, '', second)).toEqual([]);
    expect(await toldAsOf(catcher, '&status=reverted', second)).toEqual([[own, '1', 'live', 'reverted']]);
    expect(await toldAsOf(catcher, '', third)).toEqual([[own, '2', 'replay', 'observed']]);
  });

  it('another watch was meant has its records, for callers who claimed it then', async () => {
    await using catcher = await startCatcherRoutes();
    const [me, stranger] = [
      { app: 'app_1', user: 'usr_1' },
      { app: 'app_2', user: 'usr_2' },
    ];
    const append = appending(catcher);
    await catcher.register({ eventAbi: eventAbi(renamed) }, stranger.app, stranger.user);
    await catcher.register({}, me.app, me.user);
    await append('ChainEventObserved', [
      transferRecord({ Data: { value: '1' } }),
      transferRecord({ WatchId: foreign, Data: { value_: '1' } }),
    ]);
    const claimed = await catcher.foundation.eventStore.head();
    await catcher.ask(`/api/v1/contracts/${own}`, { method: 'DELETE', ...me });
    await append('ChainEventObserved', []);
    const dropped = await catcher.foundation.eventStore.head();
    await catcher.register({}, me.app, me.user);
    await catcher.ask(`/api/v1/contracts/${foreign}`, { method: 'DELETE', ...stranger });
    await append('ChainEventObserved', []);
    const again = await catcher.foundation.eventStore.head();
    const meant = async (position: number, caller: object) => (await toldAsOf(catcher, '', position, caller))[0]?.[0];
    expect([await meant(claimed, me), await meant(claimed, stranger)]).toEqual([own, foreign]);
    expect([await meant(dropped, me), await meant(dropped, stranger)]).toEqual([foreign, foreign]);
    expect([await meant(again, me), await meant(again, stranger)]).toEqual([own, own]);
  });
});

describe('asOf', () => {
  it('is refused unless it is a time that has been, or a position that there is', async () => {
    await using catcher = await startCatcherRoutes();
    const { id } = await catcher.registered();
    await catcher.documents.project();
    const head = await catcher.foundation.eventStore.head();
    const tomorrow = new Date(catcher.clock.now() + 86_400_000).toISOString();
    const wrong = ['', 'yesterday', '2026-13-01', '-1', '1.5', String(head + 1), String(catcher.clock.now()), tomorrow];
    for (const path of ['/api/v1/contracts?', `/api/v1/contracts/${id}?`, `${EVENTS}&`]) {
      for (const asOf of [...wrong, 'x'.repeat(129), `${String(head)}&asOf=${String(head)}`]) {
        const answer = catcher.ask(`${path}asOf=${asOf}`);
        expect([path, asOf, (await answer).status, await codeOf(answer)]).toEqual([
          path,
          asOf,
          400,
          'validation_failed',
        ]);
      }
    }
  });

  it('is a position, an x-position, a date or a time', async () => {
    await using catcher = await startCatcherRoutes();
    catcher.clock.time = Date.parse('2026-03-04T05:06:07.000Z');
    const answer = await catcher.register();
    const { id } = (await answer.json()) as WatchedContract;
    await catcher.documents.project();
    catcher.clock.time = Date.parse('2026-03-06T05:06:07.000Z');
    await catcher.ask(`/api/v1/contracts/${id}`, { method: 'DELETE' });
    await catcher.documents.project();
    const statusAsOf = async (asOf: string) => (await catcher.ask(`/api/v1/contracts/${id}?asOf=${asOf}`)).status;
    const position = answer.headers.get('x-position') ?? '';
    for (const asOf of [position, '2026-03-05', '2026-03-04T05:06:07.000Z', '2026-03-04T06:06:07%2B01:00'])
      expect([asOf, await statusAsOf(asOf)]).toEqual([asOf, 200]);
    for (const asOf of ['0', '2026-03-04', '2026-03-04T05:06:06.999Z', '2026-03-06T05:06:07Z'])
      expect([asOf, await statusAsOf(asOf)]).toEqual([asOf, 404]);
  });
});
