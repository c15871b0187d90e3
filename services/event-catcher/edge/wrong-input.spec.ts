import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { NODES_KIND } from '../../../schemas/announcements.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { eventCatcherRoutes } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { problemCatalogue, type ProblemCode } from '../../../schemas/http/problem.ts';
import type { RouteContract } from '../../../schemas/http/route.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { codeOf, problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import {
  CHAIN_ID,
  EVENT_URL,
  HEAD,
  TOKEN,
  idOfWatch,
  registration,
  transferAbi,
  transferRecord,
} from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

type Members = Record<string, unknown>;
type Part = 'params' | 'query' | 'body';
type RouteName = keyof typeof eventCatcherRoutes;

const routes = Object.entries<RouteContract>(eventCatcherRoutes) as [RouteName, RouteContract][];
const NODE = `0x${'1'.repeat(40)}`;
const valid: Members = {
  ...registration(),
  ...{ id: idOfWatch(transferAbi), eventName: 'Transfer' },
  ...{ node: NODE, timestamp: new Date().toISOString(), signature: `0x${'1'.repeat(130)}` },
};
const LONG = 'x'.repeat(2_000);

/** Nonsense for a path or a query. */
const TEXTS = [
  ...['', ' ', '-1', '1.5', '1e3', '0x10', 'NaN', 'null', 'true', '[]', '9'.repeat(30), `${TOKEN}0`, LONG],
  ...['{"$gt":""}', "' OR 1=1 --", '\u0000', '%00', '../../etc/passwd'],
  ...['__proto__', 'constructor', '\u{1f600}', '\ufeff'],
];
/** Nonsense for a body. */
const VALUES: readonly unknown[] = [
  ...[undefined, null, true, -1, 1.5, 2 ** 53, 1e300, [], {}, [[]], [null], { $gt: '' }, { toString: 1 }, ...TEXTS],
  ...['\ud800', '0'.repeat(70_000)],
];

interface Wrong {
  route: RouteName;
  part: Part;
  member: string;
  value: unknown;
}

const namesOf = (schema: z.ZodType | undefined): string[] =>
  schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];

/** Every member of every route, with each of these values. */
const everyMember = routes.flatMap(([route, contract]) =>
  (['params', 'query', 'body'] as const).flatMap((part) =>
    namesOf(contract[part]).map((member) => ({ route, part, member, values: part === 'body' ? VALUES : TEXTS })),
  ),
);

/** The error codes of each route, from its OpenAPI document. */
const documented = (contract: RouteContract): Set<string> => {
  const file = new URL('../../../schemas/generated/openapi.event-catcher.json', import.meta.url);
  const { paths } = JSON.parse(readFileSync(file, 'utf8')) as {
    paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
  };
  const responses = paths[contract.path]?.[contract.method.toLowerCase()]?.responses ?? {};
  return new Set(Object.values(responses).flatMap(({ description }) => description.split(', ')));
};

const path = 'contractAddress';
const UNKNOWN = `wch_${'0'.repeat(26)}`;
type Refused = [RouteName, Part, member: string, code: ProblemCode, values: unknown[]];
const wrong =
  (route: RouteName, part: Part) =>
  (member: string, code: ProblemCode, ...values: unknown[]): Refused => [route, part, member, code, values];
const registering = wrong('registerContract', 'body');
const querying = wrong('queryEvents', 'query');
const validating = wrong('validateAccess', 'body');
const refused: Refused[] = [
  registering('chainId', 'validation_failed', undefined, null, 'x', '2484', -1, 1.5, 2 ** 53, [], {}),
  registering('chainId', 'chain_not_supported', 1, 2 ** 40),
  registering(path, 'validation_failed', undefined, 7, '', '0x1', `${TOKEN}0`, TOKEN.replace('F', 'f'), { $gt: '' }),
  registering('eventSignature', 'validation_failed', undefined, null, 7, {}, ['Transfer()']),
  registering('eventSignature', 'event_signature_invalid', '', '(', 'T(', 'T(foo)', 'T(uint7)', 'T();x', LONG + LONG),
  registering('eventSignature', 'event_abi_mismatch', 'Transfer()', 'Other()', 'Transfer(address,address,uint8)'),
  registering('eventSignature', 'event_abi_mismatch', 'Transfer(address,address indexed,uint256)'),
  registering('eventAbi', 'validation_failed', undefined, null),
  registering('eventAbi', 'event_abi_mismatch', 7, '', 'x', '{}', {}, [], [null], '[]', '[{}]', [[]]),
  registering('startBlock', 'validation_failed', undefined, null, -1, 1.5, 1e300, '10', 'newest', {}),
  registering('startBlock', 'start_block_in_future', HEAD + 1, 1_000, 2 ** 40),
  ['registerContract', 'query', 'dryRun', 'validation_failed', ['', 'maybe', '1', 'TRUE']],
  ['listContracts', 'query', 'chainId', 'validation_failed', ['', 'x', '-1', '0x10', '1e3', '1.5']],
  ['listContracts', 'query', path, 'validation_failed', ['', '0x1', TOKEN.replace('F', 'f')]],
  ['listContracts', 'query', 'take', 'validation_failed', ['', '0', '1001', '-1', '1.5', 'x', ' 7', '0x7']],
  ['listContracts', 'query', 'skip', 'validation_failed', ['', '-1', '10001', '1.5', 'x']],
  ...(['getContract', 'removeContract', 'pauseContract', 'resumeContract', 'replayContract'] as const).flatMap(
    (route): Refused[] => [
      [route, 'params', 'id', 'watch_not_found', [UNKNOWN, 'wch_x', 'x', '__proto__', '{"$gt":""}', '\u0000', '../']],
      [route, 'params', 'id', 'validation_failed', ['x'.repeat(65)]],
    ],
  ),
  querying('chainId', 'validation_failed', undefined, '', 'x', '-1', '1.5'),
  querying('chainId', 'watch_not_found', '1'),
  querying(path, 'validation_failed', undefined, '', '0x1', TOKEN.replace('F', 'f')),
  querying(path, 'watch_not_found', `0x${'1'.repeat(40)}`),
  querying('watchId', 'validation_failed', 'x'.repeat(65)),
  querying('txHash', 'validation_failed', '', '0x1', 'x', `0x${'g'.repeat(64)}`),
  querying('take', 'validation_failed', '', '0', '1001', '-1', '1.5', 'x'),
  querying('skip', 'validation_failed', '', '-1', '10001', 'x'),
  querying('cursor', 'cursor_invalid', '', 'x', LONG, '\u0000'),
  querying('fromBlock', 'validation_failed', '', '-1', 'x', '1.5', '9'.repeat(30)),
  querying('toBlock', 'validation_failed', '', '-1', 'latest', '1e3'),
  querying('status', 'validation_failed', '', 'final', 'OBSERVED'),
  querying('order', 'validation_failed', '', 'up', 'ASC'),
  querying('arg.from', 'validation_failed', '', 'x', '0x1', TOKEN.replace('F', 'f')),
  querying('arg.value', 'validation_failed', '', 'x', '0x7', '1.5', '9'.repeat(79)),
  ['readStatus', 'params', 'chainId', 'validation_failed', ['x', '-1', '1.5']],
  ['readStatus', 'params', 'chainId', 'watch_not_found', ['1']],
  ['readStatus', 'params', path, 'validation_failed', ['0x1', TOKEN.replace('F', 'f')]],
  ['readStatus', 'params', path, 'watch_not_found', [`0x${'1'.repeat(40)}`]],
  ['readStatus', 'params', 'eventName', 'watch_not_found', ['Other', 'Transfer(', 'Transfer(address)']],
  ['readStatus', 'params', 'eventName', 'watch_not_found', ['__proto__', '\u0000', LONG]],
  ['readStatus', 'query', 'watchId', 'validation_failed', ['x'.repeat(65)]],
  ['readStatus', 'query', 'watchId', 'watch_not_found', ['wch_x']],
  ['listNodes', 'query', 'chainId', 'validation_failed', ['', 'x', '-1', '0x10', '1e3', '1.5']],
  ['listNodes', 'query', 'contractAddress', 'validation_failed', ['', 'x', '0x', LONG]],
  validating('node', 'validation_failed', undefined, null, 7, '', '0x1', {}, TOKEN.replace('F', 'f')),
  // The token does not belong to a node.
  validating('node', 'app_signature_invalid', TOKEN, TOKEN.toLowerCase()),
  validating('timestamp', 'validation_failed', undefined, null, 1_700_000_000_000, '', 'now', '2026-01-02'),
  validating('timestamp', 'validation_failed', '2026-13-02T03:04:05Z', '2026-01-02T03:04:05+01:00'),
  validating('timestamp', 'timestamp_out_of_window', '2026-01-02T03:04:05Z', '9999-12-31T23:59:59Z'),
  validating('signature', 'validation_failed', undefined, null, 7, {}, ['0x']),
  validating('signature', 'signature_malformed', '', '0x', 'x', `0x${'1'.repeat(128)}`, LONG),
  ['replayContract', 'body', 'fromBlock', 'validation_failed', [null, '12', -1, 1.5, 2 ** 53, {}, 9, 31]],
  ['replayContract', 'body', 'toBlock', 'validation_failed', [null, '12', -1, 1.5, 2 ** 53, [], 9, 31]],
  validating('signature', 'app_signature_invalid', `0x${'f'.repeat(130)}`),
];

describe('wrong input', () => {
  let catcher: CatcherRoutes;
  beforeAll(async () => {
    catcher = await startCatcherRoutes();
    const node = { address: NODE, domain: EVENT_URL, rpcDomain: 'https://stream.test', connections: 0, isReady: true };
    await catcher.foundation.readStore.announce(NODES_KIND, { id: 'one', renewals: 1, document: node });
    await catcher.register();
    const progress = { ...eventExamples.ChainAdvanced, finalized: 30 };
    await catcher.foundation.eventStore.append(`chain-${String(CHAIN_ID)}`, -1, [
      anEvent({ type: 'ChainAdvanced', data: progress }),
    ]);
    await catcher.documents.project();
    await catcher.documents.observe([transferRecord()], () => false);
  });
  afterAll(() => catcher.service.close());

  const send = async ({ route, part, member, value }: Wrong): Promise<Response> => {
    const contract: RouteContract = eventCatcherRoutes[route];
    const of = (name: Part): Members => {
      const members = Object.fromEntries(
        namesOf(contract[name]).flatMap((one) => (Object.hasOwn(valid, one) ? [[one, valid[one]]] : [])),
      );
      return name === part ? { ...members, [member]: value } : members;
    };
    const asText = (given: unknown) => (typeof given === 'string' ? given : String(given));
    const filled = contract.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(asText(of('params')[name])),
    );
    const query = new URLSearchParams(
      Object.entries(of('query')).flatMap(([name, given]) => (given === undefined ? [] : [[name, asText(given)]])),
    );
    const answer = await catcher.ask(`${filled}?${query.toString()}`, {
      method: contract.method,
      ...(contract.body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(of('body')) }),
    });
    // A command may have changed something, for which the next query would wait.
    if (contract.command) await catcher.documents.project();
    return answer;
  };

  it.each(everyMember)('for $member of $route is refused as its document says, or has an answer', async (one) => {
    const contract: RouteContract = eventCatcherRoutes[one.route];
    const codes = documented(contract);
    for (const value of one.values) {
      const answer = await send({ ...one, value });
      if (answer.ok) continue;
      const { code, status } = await problemOfAnswer(answer);
      expect({ value, code, isDocumented: codes.has(code) }).toEqual({ value, code, isDocumented: true });
      expect({ value, status }).toEqual({ value, status: problemCatalogue[code].status });
      expect({ value, status, isOurs: status >= 500 }).toEqual({ value, status, isOurs: false });
    }
  });

  it.each(refused)('for %s: %s %s is refused by %s, and stores nothing', async (route, part, member, code, values) => {
    const before = await catcher.foundation.eventStore.head();
    for (const value of values) {
      const problem = await problemOfAnswer(await send({ route, part, member, value }));
      expect({ value, code: problem.code }).toEqual({ value, code });
      if (code === 'validation_failed') expect(problem.errors?.map((error) => error.path)).toEqual([member]);
    }
    expect(await catcher.foundation.eventStore.head()).toBe(before);
  });

  it('without a token is refused by every route that needs one', async () => {
    for (const [route, { auth, method, path }] of routes.filter(([, { auth }]) => auth !== 'none')) {
      const answer = await catcher.ask(path.replace('{id}', String(valid['id'])), { method, app: null });
      expect({ route, auth, code: await codeOf(answer) }).toEqual({ route, auth: 'bearer', code: 'token_missing' });
    }
  });

  it('is refused where a path is not encoded as it must be', async () => {
    expect((await catcher.ask(`/api/v1/status/2484/${TOKEN}/%zz`, { app: null })).status).toBe(400);
  });

  it('is refused where a member is given twice, or as a list or an object', async () => {
    const base = `/api/v1/events?chainId=${String(CHAIN_ID)}&contractAddress=${TOKEN}`;
    for (const name of [...namesOf(eventCatcherRoutes.queryEvents.query), 'arg.value']) {
      const problem = await problemOfAnswer(await catcher.ask(`${base}&${name}=1&${name}=1`));
      expect({ name, code: problem.code }).toEqual({ name, code: 'validation_failed' });
    }
    for (const query of ['take[]=1', 'take[a]=1', 'arg[value]=7', 'arg.=7', 'arg=7'])
      expect((await catcher.ask(`${base}&${query}`)).status).toBeLessThan(500);
  });
});
