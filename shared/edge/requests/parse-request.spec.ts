import { describe, expect, it, jest } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type RouteContract } from '../../../schemas/http/route.ts';
import { Refusal } from '../../errors/refusal.ts';
import { parseRequest } from './parse-request.ts';
import { requestContext } from './request-context.ts';

const contract = route({
  service: 'account',
  method: 'POST',
  path: '/things/{id}',
  summary: 'Makes a thing',
  auth: 'none',
  params: z.object({ id: z.string().regex(/^\d+$/, 'is not a number') }),
  query: z.object({ take: z.coerce.number({ error: 'is not a number' }).default(10) }),
  body: z.object({ name: z.string({ error: 'is not a text' }), tags: z.array(z.string({ error: 'is not a text' })) }),
  status: 201,
  answer: z.object({}),
  problems: [],
});

const request = (members: Partial<FastifyRequest>): FastifyRequest =>
  ({
    id: 'request-1',
    ip: '192.0.2.1',
    headers: {},
    params: {},
    query: {},
    body: undefined,
    caller: undefined,
    ...members,
  }) as FastifyRequest;

const refusalOf = (members: Partial<FastifyRequest>): Refusal => {
  try {
    parseRequest(contract, request(members));
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('the request was not refused');
};

describe('a parameter that is not listed', () => {
  const { params: _params, query: _query, body: _body, ...bare } = contract;
  const { query: listed } = contract;
  const messagesOf = (
    query: object,
    options: {
      query?: NonNullable<RouteContract['query']>;
      openParameters?: Required<RouteContract>['openParameters'];
    } = { query: listed },
  ) => {
    try {
      parseRequest({ ...bare, ...options }, request({ query }));
    } catch (error) {
      return (error as Refusal).errors?.map(({ path, message }) => `${path} ${message}`);
    }
    return [];
  };

  it('is refused, with the nearest that is', () => {
    expect(messagesOf({ tkae: '3' })).toEqual(['tkae is not a parameter here: the nearest is take']);
    expect(messagesOf({ Take: '3' })).toEqual(['Take is not a parameter here: the nearest is take']);
    expect(messagesOf({ page: '2' })).toEqual(['page is not a parameter here: the nearest is take']);
    expect(messagesOf({ take: '3' }, {})).toEqual(['take is not a parameter here: there are none']);
  });

  it.each([
    ['one name of 15,000 letters', { ['x'.repeat(15_000)]: '1' }, 1],
    ['5,000 names', Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`x${String(at)}`, '1'])), 20],
  ])('is refused at little cost: %s', (_, query, errors) => {
    const many = z.object(
      Object.fromEntries(Array.from({ length: 12 }, (__, at) => [`parameter${String(at)}`, z.string().optional()])),
    );
    const lowered = jest.spyOn(String.prototype, 'toLowerCase');
    const messages = messagesOf(query, { query: many });
    const compared = lowered.mock.contexts.map((text) => String(text).length);
    lowered.mockRestore();
    expect(messages).toHaveLength(errors);
    // Each name that is refused is compared with the twelve, and only the beginning of a long one.
    expect(compared).toHaveLength(errors * (1 + 12));
    expect(Math.max(...compared)).toBeLessThanOrEqual(32);
  });

  it('is ignored when its name begins with _, and is left to a handler that knows more', () => {
    expect(messagesOf({ _: '1', _cache: 'x', take: '3' })).toEqual([]);
    const openParameters = { prefix: 'arg.', description: '' };
    expect(messagesOf({ 'arg.to': '1' }, { query: listed, openParameters })).toEqual([]);
    expect(messagesOf({ argto: '1' }, { query: listed, openParameters })).toHaveLength(1);
  });
});

describe('a number in a query or a path', () => {
  const numbers = {
    ...contract,
    body: z.unknown(),
    params: z.object({ id: z.coerce.number({ error: 'is not a number' }) }),
  };
  const pathsOf = (id: string, take?: string) => {
    try {
      parseRequest(numbers, request({ params: { id }, query: take === undefined ? {} : { take } }));
    } catch (error) {
      return (error as Refusal).errors?.map(({ path, message }) => `${path} ${message}`);
    }
    return [];
  };

  it('is written in decimal digits', () => {
    expect(pathsOf('7')).toEqual([]);
    expect(pathsOf('0007', '0')).toEqual([]);
    for (const wrong of ['0x10', '0b1', '1e3', ' 7', '7 ', '+7', '-7', '7.0', '', '٧']) {
      expect([wrong, pathsOf(wrong)]).toEqual([wrong, [expect.stringMatching(/^id is not a number/)]]);
      expect([wrong, pathsOf('7', wrong)]).toEqual([wrong, [expect.stringMatching(/^take is not a number/)]]);
    }
  });
});

describe('a request', () => {
  it('is parsed by its contract, without the members that the contract does not name', () => {
    const caller = { kind: 'app', appId: 'app-1' } as const;
    const parsed = parseRequest(
      contract,
      request({
        params: { id: '7', other: 'x' },
        query: { take: '3', _other: 'x' },
        body: { name: 'a', tags: ['b'], other: 1 },
        caller: caller as FastifyRequest['caller'],
      }),
    );
    expect(parsed).toMatchObject({ params: { id: '7' }, query: { take: 3 }, body: { name: 'a', tags: ['b'] }, caller });
    expect(JSON.stringify(parsed)).not.toContain('other');
    expect(parsed.context).toMatchObject({ requestId: 'request-1', ip: '192.0.2.1' });
  });

  it('has no parts that its contract does not describe', () => {
    const { params: _params, query: _query, body: _body, ...bare } = contract;
    expect(parseRequest(bare, request({ params: { id: 'x' }, body: { name: 'a' } }))).toMatchObject({
      params: undefined,
      query: undefined,
      body: undefined,
    });
  });

  it('is refused with the path of every wrong member, in the path, the query and the body', () => {
    const { code, errors } = refusalOf({
      params: { id: 'x' },
      query: { take: 'x' },
      body: { name: 1, tags: ['a', 2] },
    });
    expect(code).toBe('validation_failed');
    expect(errors).toEqual([
      { path: 'id', message: 'is not a number' },
      { path: 'take', message: 'is not a number' },
      { path: 'name', message: 'is not a text' },
      { path: 'tags.1', message: 'is not a text' },
    ]);
  });

  it('is refused with the name of the part where that is wrong as a whole', () => {
    expect(refusalOf({ params: 1, query: 1, body: 1 }).errors?.map(({ path }) => path)).toEqual([
      'path',
      'query',
      'body',
    ]);
  });

  it('is refused with the first twenty errors', () => {
    const { errors } = refusalOf({
      params: { id: '1' },
      body: { name: 'a', tags: Array.from({ length: 100 }, () => 1) },
    });
    expect(errors).toHaveLength(20);
    expect(errors?.at(-1)?.path).toBe('tags.19');
  });
});

describe('the metadata of the events that a request causes', () => {
  it.each([
    ['nobody who is known', undefined, { actor: { type: 'system', id: 'anonymous' } }],
    ['an app', { kind: 'app', appId: 'a' }, { actor: { type: 'app', id: 'a' }, app: 'a' }],
    [
      'a user',
      { kind: 'user', userId: 'u', appId: 'a', sessionId: 's' },
      { actor: { type: 'user', id: 'u' }, app: 'a', session: 's' },
    ],
  ])('name %s', (_who, caller, metadata) => {
    const context = requestContext(request({ caller: caller as FastifyRequest['caller'] }));
    expect(context.metadata).toEqual({ correlationId: 'request-1', ...metadata });
  });

  it('have the trace of a request that is traced', () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const traced = (header: string | string[] | undefined) =>
      requestContext(request({ headers: { traceparent: header } })).metadata.traceparent;
    expect(traced(traceparent)).toBe(traceparent);
    expect(traced(traceparent.replace('00-', '01-'))).toBe(traceparent);
    expect(traced(`${traceparent.replace('00-', '01-')}-more`)).toBe(traceparent);
    for (const wrong of [
      undefined,
      '',
      `x${traceparent}`,
      `${traceparent}x`,
      `${traceparent}-more`,
      traceparent.replace('00-', 'ff-'),
      `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
      `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`,
    ])
      expect(traced(wrong)).toBeUndefined();
  });
});

describe('the context of a request', () => {
  it('tells the client, and puts the state of a limit into the answer', () => {
    const made = request({ headers: { 'user-agent': 'curl/8' } });
    const context = requestContext(made);
    expect(context.userAgent).toBe('curl/8');
    const status = { limit: 1 } as unknown as Parameters<typeof context.showRateLimit>[0];
    context.showRateLimit(status);
    expect(made.rateLimit).toBe(status);
  });
});
