import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { accountRoutes } from '../../../schemas/http/account/account-routes.ts';
import { eventCatcherRoutes } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { RouteContract } from '../../../schemas/http/route.ts';
import { accountExamples } from '../../../schemas/examples/account-examples.ts';
import { eventCatcherExamples } from '../../../schemas/examples/event-catcher-examples.ts';
import type { HttpExample } from '../../../schemas/examples/http-example.ts';
import { generatedDocuments } from './generated-documents.ts';

interface Described {
  name?: string;
  in?: string;
  required?: boolean;
  schema?: Record<string, unknown>;
  description?: string;
  headers?: Record<string, Described>;
  content?: Record<string, Media>;
}
interface Media {
  schema: object;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}
interface Operation {
  operationId?: string;
  security?: unknown[];
  parameters: Described[];
  requestBody?: Described;
  responses: Record<string, Described>;
}
interface Document {
  servers?: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: object; headers: Record<string, Described> };
}

interface Documented {
  routes: Record<string, RouteContract>;
  examples: Record<string, HttpExample>;
}
const documents: Record<string, Documented> = {
  account: { routes: accountRoutes, examples: accountExamples },
  'event-catcher': { routes: eventCatcherRoutes, examples: eventCatcherExamples },
};

const one = { $ref: expect.stringMatching(/^#\/components\/schemas\/Rpc/) as unknown };
const bounds = { minItems: 1, maxItems: 50 };

/** Returns the values of all examples in the first content type. */
const examplesOf = ({ content = {} }: Described = {}): unknown[] => {
  const [{ example, examples = {} } = { example: undefined }] = Object.values(content);
  return [example, ...Object.values(examples).map(({ value }) => value)].filter((value) => value !== undefined);
};

const documentOf = (service: string): Document =>
  JSON.parse(generatedDocuments().get(`openapi.${service}.json`) ?? '') as Document;

/** Every object of a document, with its path. */
const objectsIn = (node: unknown, path = '#'): [path: string, node: Record<string, unknown>][] => {
  if (typeof node !== 'object' || node === null) return [];
  const inside = Object.entries(node).flatMap(([name, value]) => objectsIn(value, `${path}/${name}`));
  return Array.isArray(node) ? inside : [[path, node as Record<string, unknown>], ...inside];
};

describe.each(Object.entries(documents))('the OpenAPI document of %s', (service, { routes, examples }) => {
  const document = documentOf(service);
  const operations = Object.entries<RouteContract>(routes).map(([name, contract]) => {
    const found = document.paths[contract.path]?.[contract.method.toLowerCase()];
    if (!found) throw new Error(`${name} is not described`);
    return { name, contract, operation: found };
  });
  const headersOf = (operation: Operation): Described[] => operation.parameters.filter((one) => one.in === 'header');

  it('says where the service is', () => {
    expect(document.servers?.[0]?.url).toMatch(/^http:\/\/127\.0\.0\.1:300\d$/);
  });

  it.each(operations)(
    'names the operation $name, and says whether it takes a token',
    ({ name, contract, operation }) => {
      expect(operation.operationId).toBe(name);
      expect(operation.security).toEqual(contract.auth === 'bearer' ? [{ bearer: [] }] : []);
    },
  );

  it.each(operations)('has every status of success of $name', ({ contract, operation }) => {
    const statuses = Object.keys(operation.responses).filter((status) => status.startsWith('2'));
    expect(statuses.map(Number)).toEqual([contract.repeated, contract.status].filter((status) => status !== undefined));
  });

  it.each(operations)(
    'has the headers of a request of $name, each with its pattern',
    ({ name, contract, operation }) => {
      const { auth, command, refreshKey } = contract;
      const expected = [
        ...(auth === 'app' ? ['x-api-key', 'origin', 'x-timestamp', 'x-signature'] : []),
        ...(command ? (auth === 'none' ? [] : ['idempotency-key']) : name === 'hearBot' ? [] : ['x-min-position']),
        'x-request-id',
        ...(refreshKey ? ['idempotency-key'] : []),
        ...(name === 'hearBot' ? ['x-telegram-bot-api-secret-token'] : []),
      ];
      const headers = headersOf(operation);
      expect(headers.map(({ name }) => name)).toEqual(expected);
      expect(headers.filter(({ required }) => required)).toHaveLength(auth === 'app' ? 4 : name === 'hearBot' ? 1 : 0);
      for (const { schema } of headers) expect(schema?.['pattern']).toEqual(expect.any(String));
    },
  );

  it.each(operations)('has the headers of each answer of $name', ({ contract, operation }) => {
    for (const [status, { headers = {} }] of Object.entries(operation.responses)) {
      const names = ['x-request-id', 'RateLimit', 'RateLimit-Policy'];
      if (contract.command) names.push('x-position');
      if (contract.query instanceof z.ZodObject && 'asOf' in contract.query.shape) names.push('x-as-of');
      if (status === '429' || status === '503') names.push('Retry-After');
      expect([status, Object.keys(headers)]).toEqual([status, names]);
      for (const name of names) {
        expect(document.components.headers[name]?.schema?.['pattern']).toEqual(expect.any(String));
      }
    }
  });

  it.each(operations)('has every code that $name can answer', ({ contract, operation }) => {
    const { auth, method, command, problems } = contract;
    const codes = Object.values(operation.responses).flatMap(({ description }) => description?.split(', ') ?? []);
    expect(codes).toEqual(
      expect.arrayContaining([
        ...problems,
        ...['validation_failed', 'http_method_not_allowed', 'rate_limited', 'internal_error'],
        ...['dependency_unavailable', 'shutting_down'],
        ...(auth !== 'none' || command ? ['https_required'] : []),
        ...(method !== 'GET' ? ['malformed_json', 'body_too_large', 'content_type_not_json'] : []),
      ]),
    );
    expect(codes.includes('idempotency_key_reused')).toBe(command === true && auth !== 'none');
  });

  it.each(operations)('has the media type of an answer of $name, and what it is made of', ({ contract, operation }) => {
    if (contract.status === 204) return;
    const { content = {} } = operation.responses[contract.status] ?? {};
    const [first] = Object.entries(content);
    expect(first?.[0]).toBe(contract.answerType ?? 'application/json');
    expect(Object.keys(first?.[1].schema ?? {})).not.toEqual([]);
  });

  it.each(operations)('has examples of $name that fit its schemas', ({ contract, operation }) => {
    const { body, status, answer } = contract;
    const bodies = examplesOf(operation.requestBody);
    expect(bodies.length > 0).toBe(body !== undefined);
    for (const example of bodies) expect(body?.safeParse(example)).toMatchObject({ success: true });
    const answers = examplesOf(operation.responses[status]);
    expect(answers.length > 0).toBe(status !== 204);
    for (const example of answers) expect(answer.safeParse(example)).toMatchObject({ success: true });
  });

  it('has no example of a route that there is not', () => {
    expect(Object.keys(examples)).toEqual(expect.arrayContaining(Object.keys(routes)));
    expect(Object.keys(examples)).toHaveLength(Object.keys(routes).length);
  });

  it('has no schema of which generators make a class without members', () => {
    const choices = objectsIn(document).filter(([, node]) => 'anyOf' in node || 'oneOf' in node || '$defs' in node);
    // Of these choices, the only ones with members are one item or a batch of it.
    for (const [, { anyOf }] of choices) expect(anyOf).toEqual([one, { type: 'array', items: one, ...bounds }]);
    expect(choices.filter(([path]) => !path.startsWith('#/paths//rpc/post/'))).toEqual([]);
    const several = objectsIn(document).filter(([, { type }]) => Array.isArray(type) && type[1] !== 'null');
    expect(several.map(([path]) => path)).toEqual([]);
    const tuples = objectsIn(document).filter(
      ([path, { items }]) => Array.isArray(items) && !path.endsWith('/example'),
    );
    expect(tuples.map(([path]) => path)).toEqual([]);
    const empty = objectsIn(document.components.schemas).filter(
      ([, node]) => node['type'] === 'object' && !node['properties'] && !node['additionalProperties'],
    );
    expect(empty.map(([path]) => path)).toEqual([]);
  });

  it('says of each integer that may be large that it takes 64 bits', () => {
    const integers = objectsIn(document).filter(([, { type }]) => [type].flat().includes('integer'));
    const narrow = integers.filter(([, { maximum, format }]) => format !== 'int64' && !(Number(maximum) < 2 ** 31));
    expect(narrow.map(([path]) => path)).toEqual([]);
  });

  it('has the pattern of every hash and address', () => {
    const named = objectsIn(document).filter(([path]) => /(Hash|\/hash|[aA]ddress|\/topic0|\/signer)$/.test(path));
    expect(named.length).toBeGreaterThan(0);
    for (const [path, node] of named)
      expect([path, node]).toEqual([path, expect.objectContaining({ pattern: expect.any(String) })]);
  });
});

describe('the OpenAPI document of /rpc', () => {
  const rpc = documentOf('account').paths['/rpc']?.['post'];

  it('has a call and a batch, and a response of each', () => {
    for (const described of [rpc?.requestBody, rpc?.responses['200'], rpc?.responses['400']]) {
      expect(described?.content?.['application/json']?.schema).toHaveProperty('anyOf');
    }
  });

  it('lets the query say who pays', () => {
    const { RpcCall } = documentOf('account').components.schemas as Record<string, { required?: string[] }>;
    expect(RpcCall?.required).toEqual(['method']);
  });
});

describe('the OpenAPI document of a query of events', () => {
  it('has the parameters that an argument names', () => {
    const { parameters = [] } = documentOf('event-catcher').paths['/api/v1/events']?.['get'] ?? {};
    const schema = { type: 'object', propertyNames: { pattern: '^arg\\..' }, additionalProperties: { type: 'string' } };
    expect(parameters.find(({ name }) => name === 'arg')).toMatchObject({
      in: 'query',
      style: 'form',
      explode: true,
      schema,
    });
  });
});
