import { z } from 'zod';
import { Unmet, USUAL_WITHIN_S, type CaseRun } from '../case-run.ts';
import { isObject, json, textOf, type Json } from '../json-value.ts';
import { matches } from '../pattern.ts';
import { Connection } from '../readers/connection.socketio.ts';
import { PageReader } from '../readers/page-reader.ts';
import { askCaughtUpPage, openEvents, streamAddress } from './http-requests.ts';
import { subscribe } from './socket-steps.ts';
import { expectValue, name, parameters, pattern, step } from './step.ts';

const over = z.string().default('socket');
/** `5`: an event with this value was observed; `-5`: it was reverted. */
const changes = z.array(z.int());

export const readerSteps = {
  /** Follows the event of the case's contract over a socket, server-sent events or pages. */
  open: step(
    z.strictObject({ as: name, over, with: parameters.default({}) }),
    async ({ as, over: way, with: more }, run) => {
      if (way === 'socket') await openSocket(run, as, more);
      else if (way === 'server-sent events') await openEventStream(run, as, more);
      else if (way === 'pages') await openPages(run, as, more);
      else throw new Error(`there is no way to read over ${way}`);
    },
  ),

  /** Ends the connection of a reader. It keeps what it was sent. */
  cut: step(z.strictObject({ reader: name }), ({ reader }, run) => {
    run.reader(reader).close();
  }),

  /** Waits until these are the changes, exactly and in this order, that readers, one after the other, or lists have. */
  events: step(
    z.strictObject({ of: z.union([z.string(), z.array(json), json]), are: changes }),
    async ({ of, are }, run) => {
      const sources = isListOfSources(of) ? of : [of];
      const asked = () => sources.flatMap((source) => eventsOf(run, source)).map(changeOf);
      await run.until(are, asked, (came) => {
        if (matches(are, came)) return true;
        return came.some((change, index) => change !== are[index]) ? 'never' : false;
      });
    },
  ),

  /** Waits until a reader has a message that is as expected. */
  message: step(
    z.strictObject({ of: name, name: z.string(), expect: pattern.default({}) }),
    async ({ of, name: wanted, expect }, run) => {
      const reader = run.reader(of);
      const found = () => reader.messages.filter((message) => message.name === wanted).map(({ payload }) => payload);
      await run.until({ [wanted]: expect }, found, (payloads) => payloads.some((payload) => matches(expect, payload)));
    },
  ),

  /** Says how many messages of a name a reader has now. */
  count: step(z.strictObject({ of: name, name: z.string(), is: z.int() }), ({ of, name: wanted, is }, run) => {
    const count = run.reader(of).messages.filter((message) => message.name === wanted).length;
    if (count !== is) throw new Unmet({ [wanted]: is }, { [wanted]: count });
  }),

  /** Waits until the events that are left after all changes, repeats dropped by cursor, are those of the chain. */
  fold: step(z.strictObject({ of: z.string() }), async ({ of }, run) => {
    const { address, startBlock } = run.contract;
    const isEqual = ({ chain, fold }: { chain: string[]; fold: string[] }) =>
      JSON.stringify(chain.toSorted()) === JSON.stringify(fold.toSorted());
    await run.until(
      'the events of the chain',
      async () => ({ fold: folded(eventsOf(run, of)), chain: await run.node.chain.eventIds(address, startBlock) }),
      isEqual,
    );
  }),

  /** Waits until a value that steps refer to is as expected. */
  expect: step(
    z.strictObject({ reader: name, state: pattern, withinSeconds: z.number().optional() }),
    async ({ reader, state, withinSeconds }, run) => {
      // On a chain or machine for which steps have more time, these seconds are longer too.
      const withinMs = ((withinSeconds ?? USUAL_WITHIN_S) / USUAL_WITHIN_S) * run.node.withinMs;
      await expectValue(run, state, () => run.reader(reader).state(), withinMs);
    },
  ),

  /** Compares values. */
  equal: step(z.strictObject({ values: z.array(json).min(2) }), ({ values: [first = null, ...others] }) => {
    for (const other of others)
      if (JSON.stringify(sorted(other)) !== JSON.stringify(sorted(first))) throw new Unmet(first, other);
  }),
  differ: step(z.strictObject({ values: z.tuple([json, json]) }), ({ values: [first, second] }) => {
    if (JSON.stringify(first) === JSON.stringify(second)) throw new Unmet({ $not: first }, second);
  }),
};

const openSocket = async (run: CaseRun, as: string, more: Record<string, Json>): Promise<void> => {
  const { streamUrl, withinMs } = run.node;
  const options = { streamUrl, token: await run.node.token(), origin: undefined, withinMs };
  const { connection, refused } = await Connection.open(options);
  run.finally(() => {
    connection.close();
  });
  if (refused !== undefined) throw new Unmet('a connection', refused);
  const answer = await subscribe(run, connection, more);
  if (!matches({ ok: true }, answer)) throw new Unmet({ ok: true }, answer);
  run.addReader(as, connection.subscription(answer));
};

const openEventStream = async (run: CaseRun, as: string, more: Record<string, Json>): Promise<void> => {
  const headers = { authorization: `Bearer ${await run.node.token()}` };
  const { stream, answer } = await openEvents(run, streamAddress(run, more), headers);
  run.addReader(as, stream);
  const expected = { status: 200, headers: { 'content-type': { $matches: '^text/event-stream' } } };
  if (!matches(expected, answer)) throw new Unmet(expected, answer);
};

const openPages = async (run: CaseRun, as: string, more: Record<string, Json>): Promise<void> => {
  const authorization = `Bearer ${await run.node.token()}`;
  const ask = (query: Record<string, Json>, signal: AbortSignal) =>
    askCaughtUpPage(run, streamAddress(run, query), { headers: { authorization }, signal });
  const { reader, answer } = await PageReader.open(ask, more);
  run.addReader(as, reader);
  if (!matches({ status: 200 }, answer)) throw new Unmet({ status: 200 }, answer);
};

const isListOfSources = (of: Json): of is Json[] => Array.isArray(of) && !of.some(isObject);

const eventsOf = (run: CaseRun, source: Json): Json[] => {
  if (Array.isArray(source)) return source;
  const messages = run.reader(textOf(source)).messages.filter(({ name: of }) => of === 'event');
  return messages.map(({ payload }) => payload);
};

const member = (value: Json | undefined, ...[first, ...rest]: string[]): Json | undefined =>
  first === undefined ? value : member(isObject(value) ? value[first] : undefined, ...rest);

/** Of a change of the stream, or a record of a query. */
const changeOf = (item: Json): Json => {
  const value = Number(member(item, 'event', 'Data', 'value') ?? member(item, 'Data', 'value'));
  if (Number.isNaN(value)) return item;
  return member(item, 'change') === 'reverted' ? -value : value;
};

const folded = (events: readonly Json[]): string[] => {
  const current = new Set<string>();
  const cursors = new Set<Json | undefined>();
  for (const item of events) {
    const cursor = member(item, 'cursor');
    if (cursors.has(cursor)) continue;
    cursors.add(cursor);
    const id = textOf(member(item, 'event', 'Id'));
    if (member(item, 'change') === 'reverted') current.delete(id);
    else current.add(id);
  }
  return [...current];
};

/** A value in which the order of members does not count. */
const sorted = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).toSorted(([first], [second]) => (first < second ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)] as const));
};
