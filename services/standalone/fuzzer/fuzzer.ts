import fc from 'fast-check';
import { faultOf, isSuccess, isSuccessOrBusy } from './answer-faults.ts';
import { changesFor, type Changes } from './changes.ts';
import { requestOf, written, type FuzzRequest, type Valid } from './fuzz-request.ts';
import { HttpClient, type HttpAnswer, type HttpRequest } from './http-client.ts';
import { routeAt, type RouteUnderTest } from './routes-under-test.ts';

/** Where requests that succeed come from. */
export interface Valids {
  /** Makes one. */
  next: () => Promise<Valid>;
  /** It succeeds once. */
  once?: true;
}

/** By route. A route without is sent what fits its schemas, by nobody. */
export type ValidsByRoute = Record<string, Valids>;

interface Count {
  sent: number;
  succeeded: number;
  /** Of these the caller was known: an app, or a session. */
  withCaller: number;
  /** How often each status of success, and each code, was answered. */
  answers: Record<string, number>;
}

interface Wanted {
  /** Of all routes together. */
  requestsMin: number;
  /** Of each route. */
  successesMin: number;
}

/** Codes of answers to somebody who is not known. */
const CALLER_UNKNOWN =
  /^(token_|session_revoked|api_key_unknown|app_|timestamp_|request_replayed|origin_not|signature_malformed)/;
/** Texts of answers that are kept for each route. */
const SEEN_MAX = 50;
/** One request of so many is not changed. */
const CHANGED_PER_VALID = 6;
/** Of all requests; what these need is requested too, and is most of the rest. */
const FIRST_SHARE = 0.95;
/** More would only wait for one another. */
const ROUTES_AT_ONCE = 8;

/** Sends requests to every route, and keeps what is wrong with the answers. */
export class Fuzzer {
  readonly counts = new Map<string, Count>();
  /** By route. */
  readonly faults = new Map<string, string[]>();
  private readonly client = new HttpClient();
  private readonly seen = new Map<string, string[]>();

  constructor(
    private readonly routes: readonly RouteUnderTest[],
    /** By service. */
    private readonly urls: Record<string, string>,
    private readonly seed: number,
  ) {
    for (const { name } of routes) this.counts.set(name, { sent: 0, succeeded: 0, withCaller: 0, answers: {} });
  }

  /** Of all routes together. */
  total(counted: 'sent' | 'succeeded' | 'withCaller'): number {
    return Array.from(this.counts.values(), (count) => count[counted]).reduce((sum, one) => sum + one, 0);
  }

  close(): void {
    this.client.close();
  }

  /** Sends as many requests to one route as to another. */
  async run(validsOf: ValidsByRoute, { requestsMin, successesMin }: Wanted): Promise<void> {
    await this.runRoutes(validsOf, requestsMin * FIRST_SHARE, { validMin: successesMin, seed: this.seed });
    await this.runRoutes(validsOf, requestsMin, { validMin: 1, seed: this.seed + this.routes.length });
  }

  private async runRoutes(
    validsOf: ValidsByRoute,
    requests: number,
    { validMin, seed }: { validMin: number; seed: number },
  ): Promise<void> {
    const count = Math.ceil((requests - this.total('sent')) / this.routes.length);
    const valid = Math.max(validMin, Math.ceil(count / CHANGED_PER_VALID));
    const numRuns = Math.max(0, count - valid);
    // All of them before the first request, whose answer would wait.
    const planned = this.routes.map((route, at) => {
      const changes = fc.sample(changesFor(route.contract, this.otherMethodsAt(route)), { seed: seed + at, numRuns });
      return () =>
        this.runRoute(route, validsOf[route.name] ?? { next: () => Promise.resolve({}) }, { valid, changes });
    });
    const runNext = async (): Promise<void> => {
      for (let run = planned.pop(); run; run = planned.pop()) await run();
    };
    await Promise.all(Array.from({ length: ROUTES_AT_ONCE }, runNext));
  }

  /** Sends what should succeed, and returns the JSON that it is answered. */
  async succeed(name: string, valid: Valid): Promise<unknown> {
    const route = this.routes.find((one) => one.name === name);
    if (!route) throw new Error(`there is no route ${name}`);
    const { text } = await this.sendValid(route, requestOf(route.contract, valid));
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  }

  /** One after the other: a request may need what the one before it left. */
  private async runRoute(
    route: RouteUnderTest,
    { next, once }: Valids,
    { valid, changes }: { valid: number; changes: readonly Changes[] },
  ): Promise<void> {
    const { contract } = route;
    const perValid = Math.ceil(changes.length / valid);
    for (let at = 0; at < valid; at += 1) {
      let request = requestOf(contract, await next());
      let isSpent = false;
      for (const change of changes.slice(at * perValid, (at + 1) * perValid)) {
        const answer = await this.sendChanged(route, request, change);
        isSpent ||= once === true && isSuccess(contract, answer);
      }
      if (isSpent || isSuccess(contract, await this.sendUnchanged(route, request))) continue;
      // It may be used up without success, as by a request that says that the login was denied.
      if (once) request = requestOf(contract, await next());
      await this.sendValid(route, request);
    }
  }

  private otherMethodsAt({ name, contract: { path } }: RouteUnderTest): string[] {
    const others = this.routes.filter((other) => other.contract.path === path && other.name !== name);
    return others.map(({ contract }) => contract.method);
  }

  private async sendValid(route: RouteUnderTest, request: FuzzRequest): Promise<HttpAnswer> {
    const answer = await this.sendUnchanged(route, request);
    if (!isSuccessOrBusy(route.contract, answer)) {
      this.addFault(route, written(route.contract, request), answer, 'it should have succeeded');
    }
    return answer;
  }

  private sendUnchanged(route: RouteUnderTest, request: FuzzRequest): Promise<HttpAnswer> {
    return this.send(route, request, request.caller !== undefined);
  }

  private sendChanged(
    route: RouteUnderTest,
    request: FuzzRequest,
    { changes, areOfCaller }: Changes,
  ): Promise<HttpAnswer> {
    const seen = this.seen.get(route.name) ?? [];
    const changed = changes.reduce((before, change) => change(before, seen), request);
    return this.send(route, changed, changed.caller !== undefined && !areOfCaller);
  }

  private async send(asked: RouteUnderTest, request: FuzzRequest, hasCaller: boolean): Promise<HttpAnswer> {
    const { name, contract } = asked;
    const http = written(contract, request);
    const answer = await this.client.send(this.urls[contract.service] ?? '', http);
    const at = routeAt(contract.service, http.method, http.path);
    const fault = faultOf(answer, http, at);
    if (fault !== undefined) this.addFault(asked, http, answer, fault);
    const count = this.counts.get(name);
    if (!count) throw new Error(`there is no route ${name}`);
    const code = answer.status >= 400 ? /"code":"(\w+)"/.exec(answer.text)?.[1] : undefined;
    const answered = code ?? String(answer.status);
    count.sent += 1;
    count.answers[answered] = (count.answers[answered] ?? 0) + 1;
    if (hasCaller && !CALLER_UNKNOWN.test(answered)) count.withCaller += 1;
    if (at.route !== asked || http.method === 'HEAD' || !isSuccess(contract, answer)) return answer;
    count.succeeded += 1;
    this.remember(name, answer.text);
    return answer;
  }

  /** Keeps texts of answers: ids, cursors and tokens are nearly what other requests need. */
  private remember(name: string, text: string): void {
    const before = this.seen.get(name) ?? [];
    if (before.length >= SEEN_MAX) return;
    const found = Array.from(text.matchAll(/"([^"\\]{1,300})"/g), ([, inside = '']) => inside);
    this.seen.set(name, [...new Set([...before, ...found])].slice(0, SEEN_MAX));
  }

  private addFault({ name }: RouteUnderTest, request: HttpRequest, answer: HttpAnswer, fault: string): void {
    const { method, path, headers, body } = request;
    const sent = `${method} ${path} ${JSON.stringify(headers)} ${body?.toString().slice(0, 1_000) ?? ''}`;
    const faults = this.faults.get(name) ?? [];
    faults.push(`${fault}\n  ${sent}\n  ${String(answer.status)} ${answer.text.slice(0, 1_000)}`);
    this.faults.set(name, faults);
  }
}
