import { ChainUnavailable, RangeTooLarge, StateUnavailable, type BlockHeader } from '../chain-reader.ts';
import { InvalidAnswer } from './answers/checked-answers.ts';
import { noFailures, noneOf, type Failures } from './failures.ts';
import { EndpointHealth } from './endpoints/endpoint-health.ts';
import { askChainId, askHead, requireChainId } from './header-requests.ts';
import { blocksOf, type BlockRange } from './refusals/suggested-range.ts';
import type { RpcCall } from './answer-limits.ts';
import { JsonRpcEndpoint, WAIT_MAX_MS, type CallOutcome } from './endpoints/json-rpc-endpoint.ts';
import { NoAnswer, NoMethod } from './endpoints/no-answer.ts';
import { PerhapsTooLarge, RefusesBlocks } from './refusals/refused-blocks.ts';
import type { Refusal } from './refusals/rpc-refusals.ts';

const ANSWERS_WITHIN_MS = 15_000;
/** First quarantine of an endpoint that failed or returned invalid data: for this long it is asked last. */
const QUARANTINE_MS = 30_000;
/** How often the heads of several endpoints are compared. */
const COMPARE_MS = 15_000;
/** Another endpoint replaces the chosen one only if its latency is below this part of the chosen one's. */
const WORTH_CHANGING = 0.7;
/** An endpoint has a stale head if its newest block is behind another endpoint's by more than both of these. */
const BEHIND_BLOCKS_MAX = 2;
const BEHIND_SECONDS_MAX = 10;
/** Maximum attempts for one request, if endpoints are rate limited. */
const ATTEMPTS_MAX = 3;

export interface EndpointLimits {
  quarantineMs?: number;
  withinMs?: number;
  compareMs?: number;
}

/** How one question is asked. */
interface Asking {
  /** The blocks that are asked about: an endpoint that takes fewer at a time is not asked. */
  range?: BlockRange | undefined;
  /** For each request, instead of the client's. */
  withinMs?: number | undefined;
}

interface EndpointState {
  endpoint: JsonRpcEndpoint;
  health: EndpointHealth;
  /** Name of the endpoint in messages, which anyone may read: hosts may be secret. */
  name: string;
  /** Whether it has answered with the right chain id since its last failure. */
  isOfChain: boolean;
  /** Its newest block at the last comparison. */
  head: BlockHeader | undefined;
}

interface Asked {
  state: EndpointState;
  /** By `performance.now()`. */
  askedAt: number;
}

/**
 * The JSON-RPC endpoints of a chain: asks the fastest trusted one, and the others if it fails, returns provably false
 * data, lags behind or is rate limited. A process has one client of each chain, so that what one question shows of an
 * endpoint serves all; questions do not wait for each other.
 */
export class ChainClient {
  private readonly endpoints: EndpointState[];
  private readonly closing = new AbortController();
  private readonly compareMs: number;
  private comparedAtMs = performance.now();
  /** The endpoint that answered last. */
  private chosen: EndpointState | undefined;

  constructor(
    readonly chainId: number,
    urls: readonly string[],
    { quarantineMs = QUARANTINE_MS, withinMs = ANSWERS_WITHIN_MS, compareMs = COMPARE_MS }: EndpointLimits = {},
  ) {
    this.compareMs = compareMs;
    this.endpoints = urls.map((url, index) => ({
      endpoint: new JsonRpcEndpoint(url, withinMs, this.closing.signal),
      health: new EndpointHealth(quarantineMs),
      name: `provider ${String(index + 1)}`,
      isOfChain: false,
      head: undefined,
    }));
  }

  /** Also aborts calls in progress. */
  close(): void {
    this.closing.abort();
  }

  /** @throws ChainUnavailable, MethodMissing, BlocksRefused, RangeTooLarge, StateUnavailable */
  async ask<Validated>(
    what: string,
    read: (endpoint: JsonRpcEndpoint) => Promise<Validated>,
    how: Asking = {},
  ): Promise<Validated> {
    const [validated] = await this.askSeveral(what, read, { ...how, enough: 1 });
    return validated;
  }

  /** Asks one endpoint for these calls, and checks its results, in the order of the calls. @throws like `ask` */
  call<Checked>(
    what: string,
    calls: readonly RpcCall[],
    check: (results: unknown[]) => Checked,
    withinMs?: number,
  ): Promise<Checked> {
    return this.ask(what, async (endpoint) => check(await endpoint.call(calls, withinMs)), { withinMs });
  }

  /** Like `call`, with what was said to each call: errors of single calls are no failure of the endpoint. */
  tryCall<Checked>(
    what: string,
    calls: readonly RpcCall[],
    check: (outcomes: CallOutcome[]) => Checked,
  ): Promise<Checked> {
    return this.ask(what, async (endpoint) => check(await endpoint.tryCall(calls)));
  }

  /**
   * Asks until `enough` endpoints have answered, or all were tried.
   * @returns their answers, at least one
   * @throws ChainUnavailable, RangeTooLarge if fewer answered and the range was too large for another, StateUnavailable
   */
  async askSeveral<Validated>(
    what: string,
    read: (endpoint: JsonRpcEndpoint) => Promise<Validated>,
    { range, withinMs, enough }: Asking & { enough: number },
  ): Promise<[Validated, ...Validated[]]> {
    this.compareNowAndThen();
    const subject = `${what} of chain ${String(this.chainId)}`;
    for (let attempt = 1; ; attempt += 1) {
      const failures = noFailures();
      const answers: Validated[] = [];
      for (const state of this.inOrder()) {
        // An endpoint that is down could take its full timeout each time.
        const askedAt = performance.now();
        if (answers.length > 0 && state.health.isGivenUp(askedAt)) break;
        try {
          if (range) requireWithin(state.endpoint, range);
          answers.push(await this.askOne(state, read, withinMs));
          if (answers.length === 1) this.chosen = state;
          if (answers.length === enough) break;
        } catch (error) {
          if (this.closing.signal.aborted) throw new ChainUnavailable(`${subject}: the reader is closed`);
          this.note(error, { state, askedAt }, failures);
        }
      }
      const { messages, tooLarge, perhapsTooLarge, withoutState, isAskedAgain } = failures;
      const message = `${subject}: ${messages.join('; ')}`;
      if (isAny(answers) && (answers.length === enough || !tooLarge)) return answers;
      const smaller = tooLarge ?? perhapsTooLarge;
      if (smaller) throw new RangeTooLarge(message, smaller.suggested);
      if (withoutState === this.endpoints.length) throw new StateUnavailable(message);
      // The next attempt waits for its slot.
      if (!isAskedAgain || attempt === ATTEMPTS_MAX)
        throw noneOf(failures, { message, chainId: this.chainId, endpoints: this.endpoints.length });
    }
  }

  private inOrder(): EndpointState[] {
    const now = performance.now();
    const newest = this.endpoints
      .flatMap(({ head, health }) => (head && health.quarantinedUntilMs <= now ? [head] : []))
      .reduce<BlockHeader | undefined>((most, head) => (most && most.number > head.number ? most : head), undefined);
    const rankOf = (state: EndpointState) => {
      const { health, endpoint } = state;
      const latencyMs = (health.latencyMs ?? 0) * (state === this.chosen ? WORTH_CHANGING : 1);
      return [
        health.quarantinedUntilMs > now ? health.quarantinedUntilMs : 0,
        Number(isStale(state, newest)),
        endpoint.rate.waitMs(now) + latencyMs,
      ];
    };
    const ranked = this.endpoints.map((state) => ({ state, rank: rankOf(state) }));
    return ranked.toSorted((left, right) => compareRanks(left.rank, right.rank)).map(({ state }) => state);
  }

  private async askOne<Validated>(
    state: EndpointState,
    read: (endpoint: JsonRpcEndpoint) => Promise<Validated>,
    withinMs?: number,
  ): Promise<Validated> {
    await this.requireChain(state, withinMs);
    const validated = await read(state.endpoint);
    state.health.succeeded(performance.now());
    return validated;
  }

  /** @throws errors that are not about this endpoint */
  private note(error: unknown, { state, askedAt }: Asked, failures: Failures): void {
    const { endpoint, name } = state;
    const failed = () => {
      setAside(state, askedAt);
    };
    if (error instanceof PerhapsTooLarge) {
      // The endpoint may be failing, so others should not wait for it.
      failed();
      failures.perhapsTooLarge = largerOf(error, failures.perhapsTooLarge);
    } else if (error instanceof RangeTooLarge) failures.tooLarge = largerOf(error, failures.tooLarge);
    else if (error instanceof StateUnavailable) failures.withoutState += 1;
    else if (error instanceof RefusesBlocks) {
      if (!error.isPruned) failed();
      failures.refused += 1;
      failures.pruned += Number(error.isPruned);
    } else if (!isFault(error)) throw error;
    else if (isRateLimited(error)) failures.isAskedAgain ||= takesRequestsSoon(error);
    else {
      failed();
      if (error instanceof NoMethod) failures.missing.push(error.method);
    }
    failures.messages.push(`${name}: ${endpoint.address.redact(error.message)}`);
  }

  /** Asks all endpoints for their heads, to learn which are fast, which lag behind, and which answer again. */
  private compareNowAndThen(): void {
    const now = performance.now();
    if (this.endpoints.length < 2 || now < this.comparedAtMs + this.compareMs) return;
    this.comparedAtMs = now;
    for (const state of this.endpoints) {
      const { health, endpoint } = state;
      if (health.quarantinedUntilMs <= now && endpoint.rate.waitMs(now) === 0) void this.measure(state);
    }
  }

  private async measure(state: EndpointState): Promise<void> {
    const startedAt = performance.now();
    try {
      await this.requireChain(state);
      const askedAt = performance.now();
      state.head = await this.askOne(state, (endpoint) => askHead(endpoint, this.chainId));
      state.health.measured(performance.now() - askedAt);
    } catch (error) {
      if (!this.closing.signal.aborted && isFault(error) && !isRateLimited(error)) setAside(state, startedAt);
    }
  }

  private async requireChain(state: EndpointState, withinMs?: number): Promise<void> {
    if (state.isOfChain) return;
    requireChainId(await askChainId(state.endpoint, withinMs), this.chainId);
    state.isOfChain = true;
  }
}

/**
 * Moves an endpoint behind the others. Another node may answer at the same address afterwards, so what was learned of
 * the last one is forgotten.
 */
const setAside = (state: EndpointState, askedAt: number): void => {
  state.health.failed(performance.now(), askedAt);
  state.isOfChain = false;
  if (state.endpoint.takesBlockHash) state.endpoint.takesBlockHash = undefined;
};

/** An answer may itself be `undefined`. */
const isAny = <Answer>(answers: readonly Answer[]): answers is [Answer, ...Answer[]] => answers.length > 0;

const isStale = ({ head }: EndpointState, newest: BlockHeader | undefined): boolean =>
  head !== undefined &&
  newest !== undefined &&
  newest.number - head.number > BEHIND_BLOCKS_MAX &&
  newest.timestamp - head.timestamp > BEHIND_SECONDS_MAX;

const compareRanks = (left: readonly number[], right: readonly number[]): number =>
  left.map((value, at) => value - (right[at] ?? 0)).find((difference) => difference !== 0) ?? 0;

/** @throws RangeTooLarge if the range exceeds what the endpoint is known to accept */
const requireWithin = ({ rangeLimit }: JsonRpcEndpoint, range: BlockRange): void => {
  const { value } = rangeLimit;
  if (blocksOf(range) <= value) return;
  throw new RangeTooLarge(`it takes ${String(value)} blocks at a time`, { blocks: value });
};

/** Returns the refusal of the endpoint that accepts more. */
const largerOf = (one: RangeTooLarge, other = one): RangeTooLarge =>
  (other.suggested?.blocks ?? 0) > (one.suggested?.blocks ?? 0) ? other : one;

const isFault = (error: unknown): error is InvalidAnswer | NoAnswer =>
  error instanceof InvalidAnswer || error instanceof NoAnswer;

const isRateLimited = (error: InvalidAnswer | NoAnswer): error is NoAnswer & { why: RateLimited } =>
  error instanceof NoAnswer && error.why.kind === 'rate-limited';
type RateLimited = Extract<Refusal, { kind: 'rate-limited' }>;

/** Whether a rate-limited request is repeated: only if the endpoint asks for a wait of at most `WAIT_MAX_MS`. */
const takesRequestsSoon = ({ why }: { why: RateLimited }): boolean => (why.retryAfterMs ?? 0) <= WAIT_MAX_MS;
