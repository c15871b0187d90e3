import { accountRoutes } from '../../../schemas/http/account/account-routes.ts';
import { eventCatcherRoutes } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { problemCatalogue, type ProblemCode } from '../../../schemas/http/problem.ts';
import type { RouteContract } from '../../../schemas/http/route.ts';
import { streamRoutes } from '../../../schemas/http/stream/stream-routes.ts';
import { generatedDocuments } from '../../../shared/tooling/documents/generated-documents.ts';

export interface RouteUnderTest {
  name: string;
  contract: RouteContract;
  /** The codes that its OpenAPI document has for each status. */
  documented: ReadonlyMap<number, readonly string[]>;
}

interface OpenApi {
  paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
}

const documents = generatedDocuments();

/** Every route of the services, from their tables: nobody lists them here. */
export const routesUnderTest: readonly RouteUnderTest[] = Object.entries<RouteContract>({
  ...accountRoutes,
  ...eventCatcherRoutes,
  ...streamRoutes,
}).map(([name, contract]) => {
  const { paths } = JSON.parse(documents.get(`openapi.${contract.service}.json`) ?? '') as OpenApi;
  const { responses } = paths[contract.path]?.[contract.method.toLowerCase()] ?? { responses: {} };
  const byStatus = Object.entries(responses).map(([status, { description }]) => [Number(status), description] as const);
  return { name, contract, documented: new Map(byStatus.map(([status, codes]) => [status, codes.split(', ')])) };
});

/** Of requests that come to no route. */
const ELSEWHERE: readonly ProblemCode[] = [
  ...(['route_not_found', 'http_method_not_allowed', 'validation_failed'] as const),
  ...(['malformed_json', 'body_too_large', 'content_type_not_json'] as const),
];
const elsewhere = Map.groupBy<number, string>(ELSEWHERE, (code) => problemCatalogue[code as ProblemCode].status);

const parametersOf = (segments: readonly string[]): number =>
  segments.filter((segment) => segment.startsWith('{')).length;

const patterns = routesUnderTest
  .map((route) => ({ route, segments: route.contract.path.split('/') }))
  // What is written out comes before what is a parameter.
  .toSorted((one, other) => parametersOf(one.segments) - parametersOf(other.segments));

/** Returns the route that a request comes to, if it comes to one, and the codes that may answer it. */
export const routeAt = (
  service: RouteContract['service'],
  method: string,
  path: string,
): { route: RouteUnderTest | undefined; codes: ReadonlyMap<number, readonly string[]> } => {
  const given = (path.split('?')[0] ?? '').split('/');
  const asked = method === 'HEAD' ? 'GET' : method;
  const found = patterns.find(
    ({ route: { contract }, segments }) =>
      contract.service === service &&
      contract.method === asked &&
      (segments.length === given.length || (segments.at(-1)?.startsWith('{+') && segments.length < given.length)) &&
      segments.every((segment, at) => segment.startsWith('{') || segment === given[at]),
  );
  return { route: found?.route, codes: found?.route.documented ?? elsewhere };
};
