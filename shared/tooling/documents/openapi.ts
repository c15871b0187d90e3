import { z } from 'zod';
import {
  createDocument,
  type CreateDocumentOptions,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi';
import {
  answerHeaders,
  appHeaders,
  requestHeaders,
  refreshKey,
  type HeaderRule,
} from '../../../schemas/http/headers.ts';
import { problem, problemCatalogue, type ProblemCode } from '../../../schemas/http/problem.ts';
import type { HttpExample } from '../../../schemas/examples/http-example.ts';
import type { RouteContract } from '../../../schemas/http/route.ts';
import { plainJsonSchema } from './plain-json-schema.ts';

export interface DescribedService {
  title: string;
  /** The service's URL with the default settings. */
  url: string;
  /** By operation id. */
  routes: Record<string, RouteContract>;
  examples: Record<string, HttpExample>;
  /** Schemas with a name of their own in the document, and so in clients generated from it. */
  schemas: Record<string, z.ZodType>;
}

/** Returns the OpenAPI 3.1 document of one service, from its route contracts. */
export const openApiDocument = ({ title, url, routes, examples, schemas }: DescribedService): object => {
  const paths: ZodOpenApiPathsObject = {};
  for (const [operationId, contract] of Object.entries(routes)) {
    const described = { operationId, ...operation(contract, examples[operationId]) };
    paths[contract.path] = { ...paths[contract.path], [contract.method.toLowerCase()]: described };
  }
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title,
        version: '1',
        description: 'Every error is a problem document (RFC 9457) with one of the codes named.',
        license: { name: 'None', identifier: 'LicenseRef-UNLICENSED' },
      },
      servers: [
        { url, description: 'with the default settings' },
        { url: '/', description: 'where this document is served' },
      ],
      paths,
      components: {
        schemas: { Problem: problem, ...schemas },
        headers: Object.fromEntries(
          Object.entries(answerHeaders).map(([name, { pattern, description }]) => [
            name,
            { description, required: ALWAYS.has(name), schema: text(pattern) },
          ]),
        ),
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      },
    },
    OPTIONS,
  );
};

const OPTIONS: CreateDocumentOptions = {
  override: plainJsonSchema,
  allowEmptySchema: { union: true },
  cycles: 'throw',
};
/** Headers that every answer has. */
const ALWAYS = new Set(['x-request-id']);

const text = ({ source }: RegExp) => ({ type: 'string' as const, pattern: source });

const operation = (
  contract: RouteContract,
  example: HttpExample = {},
): Omit<ZodOpenApiOperationObject, 'operationId'> => {
  const {
    summary,
    auth,
    params,
    query,
    body,
    status,
    repeated,
    answer,
    answerType,
    streams = {},
    hasOwnGuard,
  } = contract;
  const streamed = Object.fromEntries(Object.entries(streams).map(([type, schema]) => [type, { schema }]));
  const content =
    status === 204
      ? {}
      : {
          content: { [answerType ?? 'application/json']: { schema: answer, ...shown(example, 'answer') }, ...streamed },
        };
  const headers = headersOf(answerHeaderNames(contract));
  const success = (description: string): ZodOpenApiResponseObject => ({ description, headers, ...content });
  return {
    summary,
    security: auth === 'bearer' ? [{ bearer: [] }, ...(hasOwnGuard ? [{}] : [])] : [],
    parameters: [
      ...requestHeaderNames(contract).map(requestHeader),
      ...(contract.refreshKey ? [{ ...headerOf('idempotency-key', refreshKey), required: false }] : []),
      ...Object.entries(contract.headers ?? {}).map(([name, rule]) => ({ ...headerOf(name, rule), required: true })),
      ...(contract.openParameters ? [openParameter(contract.openParameters)] : []),
    ],
    requestParams: {
      ...(params && { path: params as z.ZodObject }),
      ...(query && { query: query as z.ZodObject }),
    },
    ...(body && {
      requestBody: {
        required: !body.safeParse(undefined).success,
        content: { 'application/json': { schema: body, ...shown(example, 'body') } },
      },
    }),
    responses: {
      [String(status)]: success('success'),
      ...(repeated !== undefined && { [String(repeated)]: success('success: it was done already') }),
      ...problemResponses(contract),
    },
  };
};

/** A route that also takes a batch has one example of each. */
const shown = ({ batch, ...single }: HttpExample, part: 'body' | 'answer') =>
  batch ? { examples: { single: { value: single[part] }, batch: { value: batch[part] } } } : { example: single[part] };

const allRequestHeaders = { ...appHeaders, ...requestHeaders };
type RequestHeader = keyof typeof allRequestHeaders;
const requestHeader = (name: RequestHeader) => ({
  ...headerOf(name, allRequestHeaders[name]),
  required: name in appHeaders,
});

const headerOf = (name: string, { pattern, description }: HeaderRule) => ({
  ...{ name, in: 'header' as const, description, schema: text(pattern) },
});

/** Each member of the object is a parameter of its own. */
const openParameter = ({ prefix, description }: Required<RouteContract>['openParameters']) => ({
  ...{ name: prefix.replace('.', ''), in: 'query' as const, description, style: 'form' as const, explode: true },
  schema: {
    type: 'object' as const,
    propertyNames: { pattern: `^${prefix.replace('.', '\\.')}.` },
    additionalProperties: { type: 'string' as const },
  },
});

/** `x-min-position` is only for known callers and for queries: other requests do not wait for a read model. */
const requestHeaderNames = ({ auth, command, method }: RouteContract): RequestHeader[] => [
  ...(auth === 'app' ? (Object.keys(appHeaders) as (keyof typeof appHeaders)[]) : []),
  ...(command && auth !== 'none' ? (['idempotency-key'] as const) : []),
  ...(!command && (auth !== 'none' || method === 'GET') ? (['x-min-position'] as const) : []),
  'x-request-id',
];

type AnswerHeader = keyof typeof answerHeaders;
const answerHeaderNames = ({ command, query }: RouteContract): AnswerHeader[] => [
  'x-request-id',
  'RateLimit',
  'RateLimit-Policy',
  ...(command ? (['x-position'] as const) : []),
  ...(query instanceof z.ZodObject && 'asOf' in query.shape ? (['x-as-of'] as const) : []),
];

const headersOf = (names: readonly AnswerHeader[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` as const }]));

const problemResponses = (contract: RouteContract) => {
  const codes = [...new Set([...contract.problems, ...commonProblems(contract)])];
  const byStatus = Map.groupBy(codes, (code) => problemCatalogue[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, codesOfStatus]) => [
      String(status),
      {
        description: codesOfStatus.join(', '),
        headers: headersOf([
          ...answerHeaderNames(contract),
          ...(TEMPORARY.has(status) ? ['Retry-After' as const] : []),
        ]),
        content: {
          ...(status === 400 && contract.readsBody && { 'application/json': { schema: contract.readsBody.invalid } }),
          'application/problem+json': { schema: problem },
        },
      },
    ]),
  );
};

/** Statuses of temporary refusals. */
const TEMPORARY = new Set<number>([429, 503]);

/** Returns the codes that any route like this one can answer, by the common rules of the interface. */
const commonProblems = ({ auth, method, params, command }: RouteContract): ProblemCode[] => [
  'validation_failed',
  // A body is read even if the route takes none.
  ...(method !== 'GET' ? (['malformed_json', 'body_too_large', 'content_type_not_json'] as const) : []),
  ...(params ? (['route_not_found'] as const) : []),
  ...(auth === 'app' ? APP_PROBLEMS : []),
  ...(auth === 'none' ? [] : TOKEN_PROBLEMS),
  ...(auth !== 'none' || command ? (['https_required'] as const) : []),
  ...(command && auth !== 'none' ? (['idempotency_key_reused'] as const) : []),
  'http_method_not_allowed',
  'rate_limited',
  'internal_error',
  'dependency_unavailable',
  'shutting_down',
];

const APP_PROBLEMS: readonly ProblemCode[] = [
  'signature_malformed',
  'api_key_unknown',
  'app_revoked',
  'app_signature_invalid',
  'timestamp_out_of_window',
  'request_replayed',
  'origin_not_allowed',
];

/** On a route for apps, these codes are about the token that the request may carry. */
const TOKEN_PROBLEMS: readonly ProblemCode[] = [
  'token_missing',
  'token_invalid',
  'token_expired',
  'session_revoked',
  'app_revoked',
];
