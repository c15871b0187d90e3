import type { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import { problem, problemCatalogue, type ProblemCode } from '../../schemas/http/problem.ts';
import type { RouteContract } from '../../schemas/http/route.ts';

/** Returns the codes that any route with these inputs can answer, by the common rules of the interface. */
const commonProblems = ({ auth, body, query, params, command }: RouteContract): ProblemCode[] => [
  ...(body ? (['malformed_json', 'body_too_large', 'content_type_not_json'] as const) : []),
  ...(body || query || params ? (['validation_failed'] as const) : []),
  ...(auth === 'bearer' ? (['token_missing', 'token_invalid', 'token_expired', 'session_revoked'] as const) : []),
  ...(auth === 'app'
    ? ([
        'validation_failed',
        'signature_malformed',
        'api_key_unknown',
        'app_signature_invalid',
        'timestamp_out_of_window',
        'request_replayed',
        'origin_not_allowed',
      ] as const)
    : []),
  ...(command && auth !== 'none' ? (['idempotency_key_reused'] as const) : []),
  'rate_limited',
  'internal_error',
  'dependency_unavailable',
  'shutting_down',
];

const appHeaders = ['x-api-key', 'origin', 'x-timestamp', 'x-signature'].map((name) => ({
  name,
  in: 'header' as const,
  required: true,
  schema: { type: 'string' as const },
}));

const optionalHeader = (name: string, description: string) => ({
  name,
  in: 'header' as const,
  required: false,
  description,
  schema: { type: 'string' as const },
});

const operation = (contract: RouteContract): ZodOpenApiOperationObject => {
  const { summary, auth, params, query, body, status, answer, command } = contract;
  const answered = status === 204 ? {} : { content: { 'application/json': { schema: answer } } };
  return {
    summary,
    ...(auth === 'bearer' ? { security: [{ bearer: [] }] } : {}),
    parameters: [
      ...(auth === 'app' ? appHeaders : []),
      ...(command && auth !== 'none'
        ? [optionalHeader('idempotency-key', 'the same key and body within 24 h: the first answer again')]
        : []),
      ...(command
        ? []
        : [optionalHeader('x-min-position', 'an x-position: waits up to 2 s for the read model to reach it')]),
    ],
    ...(params || query
      ? {
          requestParams: {
            ...(params ? { path: params as z.ZodObject } : {}),
            ...(query ? { query: query as z.ZodObject } : {}),
          },
        }
      : {}),
    ...(body ? { requestBody: { required: true, content: { 'application/json': { schema: body } } } } : {}),
    responses: { [String(status)]: { description: 'success', ...answered }, ...problemResponses(contract) },
  };
};

const problemResponses = (contract: RouteContract) => {
  const codes = [...new Set([...contract.problems, ...commonProblems(contract)])];
  const byStatus = Map.groupBy(codes, (code) => problemCatalogue[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, codesOfStatus]) => [
      String(status),
      { description: codesOfStatus.join(', '), content: { 'application/problem+json': { schema: problem } } },
    ]),
  );
};

/** Returns the OpenAPI 3.1 document of one service, from its route contracts. */
export const openApiDocument = (title: string, routes: readonly RouteContract[]): object => {
  const paths: ZodOpenApiPathsObject = {};
  for (const contract of routes) {
    paths[contract.path] = { ...paths[contract.path], [contract.method.toLowerCase()]: operation(contract) };
  }
  return createDocument({
    openapi: '3.1.0',
    info: {
      title,
      version: '1',
      description: 'Every error is a problem document (RFC 9457) with one of the codes named.',
    },
    paths,
    components: {
      schemas: { Problem: problem },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
    },
  });
};
