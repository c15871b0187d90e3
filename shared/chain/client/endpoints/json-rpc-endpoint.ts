import { fetchFailure } from '../../../errors/fetch-failure.ts';
import { LearnedLimit } from '../../../primitives/learned-limit.ts';
import { pause } from '../../../primitives/waiting/pause.ts';
import { AnswerLengths } from '../logs/answer-lengths.ts';
import { ComparedHashes } from '../logs/compared-hashes.ts';
import { limitAnswer, parseAnswer, type RpcCall } from '../answer-limits.ts';
import type { BlockHeader } from '../../chain-reader.ts';
import { EndpointAddress } from './endpoint-address.ts';
import { METHOD_NOT_FOUND, NoAnswer, NoMethod, saysNoMethod } from './no-answer.ts';
import { RequestRate } from './request-rate.ts';
import { refusalOf, retryAfterMs, textOfError, type Refusal, type RefusalCodes } from '../refusals/rpc-refusals.ts';
import type { BlockRange } from '../refusals/suggested-range.ts';

interface Envelope {
  id?: unknown;
  result?: unknown;
  error?: unknown;
}

/** A call with its JSON text. The parameters may be long, so they are serialised once. */
interface WrittenCall extends RpcCall {
  text: string;
}

interface Allowed {
  /** Whether single calls may fail. */
  errors: boolean;
  /** The timeout of this request, instead of the endpoint's own. */
  withinMs?: number | undefined;
}

/** What a request asks about. */
interface About {
  /** The blocks whose logs are requested. */
  asked: BlockRange | undefined;
  /** `undefined`: several methods. */
  method: string | undefined;
}

/** An endpoint's answer to one call: its result, or why there is none. */
export type CallOutcome = { result: unknown } | { error: RpcFault };

/** The error of one call. */
export interface RpcFault {
  code: number | undefined;
  /** One line, including `data` if that is text, without secrets of the endpoint's URL. */
  message: string;
  /** As received. */
  data: unknown;
}

const BATCH_CALLS_MAX = 100;
/** The limit of geth and Erigon. */
const FILTER_ITEMS_MAX = 1_000;
/** In UTF-16 units. Nodes accept 2 to 5 MB in one request; a single call may be larger. */
const BATCH_LENGTH_MAX = 1_500_000;
/** Maximum wait for a slot. A request that would wait longer is not sent, nor repeated if the endpoint wants it later. */
export const WAIT_MAX_MS = 5_000;
/** Length of a refusal that is read: patterns take quadratic time on a text made for that. */
const REFUSAL_MAX = 2_000;

/** One JSON-RPC endpoint, over HTTP. */
export class JsonRpcEndpoint {
  readonly address: EndpointAddress;
  /** Maximum addresses, or topics, in a request for logs. */
  readonly filterItemsLimit = new LearnedLimit(FILTER_ITEMS_MAX);
  /** Maximum blocks in a request for logs, whatever its filter. */
  readonly rangeLimit = new LearnedLimit(Number.MAX_SAFE_INTEGER);
  /** Answer lengths of requests for ranges, and for single blocks by hash. */
  readonly rangeLengths = new AnswerLengths();
  readonly blockLengths = new AnswerLengths(this.rangeLengths);
  /** How far the block hashes in its logs are compared with headers. */
  readonly blockHashes = new ComparedHashes();
  /** Whether the endpoint accepts a block hash in a request for logs; `undefined` until its answers have shown that. */
  takesBlockHash: boolean | undefined;
  readonly rate = new RequestRate();
  /** The last block that it reported as its newest. */
  head: Pick<BlockHeader, 'number' | 'timestamp'> | undefined;
  /** Number of consecutive refusals of the finalized block with an unrecognised text. */
  finalizedRefusals = 0;
  private readonly callsLimit = new LearnedLimit(BATCH_CALLS_MAX);
  private calls = 0;

  constructor(
    url: string,
    private readonly withinMs: number,
    /** Aborts all calls in progress. */
    private readonly closing: AbortSignal,
  ) {
    this.address = new EndpointAddress(url);
  }

  /**
   * Returns the results in the order of the calls, in as few requests as possible.
   * @throws NoAnswer if one call has none
   */
  async call(calls: readonly RpcCall[], withinMs?: number): Promise<unknown[]> {
    const envelopes = await this.envelopes(calls, { errors: false, withinMs });
    return envelopes.map(({ result }) => result);
  }

  /**
   * Returns the outcome of each call, in their order: errors of single calls are not a failure of the endpoint.
   * @throws NoAnswer if a call has neither result nor error
   */
  async tryCall(calls: readonly RpcCall[]): Promise<CallOutcome[]> {
    const envelopes = await this.envelopes(calls, { errors: true });
    return envelopes.map(({ result, error }) => {
      if (error == null) return { result };
      const { code, data } = Object(error) as { code?: unknown; data?: unknown };
      const message = this.address.redact(messageOf(error).slice(0, REFUSAL_MAX));
      return { error: { code: typeof code === 'number' ? code : undefined, message, data } };
    });
  }

  /** Whether a small request is answered: then a request that timed out asked for too much. */
  answersAtAll(): Promise<boolean> {
    return this.call([{ method: 'eth_chainId', params: [] }]).then(
      () => true,
      () => false,
    );
  }

  private async envelopes(calls: readonly RpcCall[], may: Allowed): Promise<Envelope[]> {
    const answered: Envelope[] = [];
    const written = calls.map((call) => ({ ...call, text: JSON.stringify(call.params) }));
    while (answered.length < calls.length) {
      const batch = this.batchOf(written.slice(answered.length, answered.length + this.callsLimit.value));
      try {
        answered.push(...(await this.request(batch, may)));
        this.callsLimit.answered(batch.length);
      } catch (error) {
        if (batch.length === 1 || !(error instanceof NoAnswer && error.why.kind === 'no-batch')) throw error;
        this.callsLimit.refused(batch.length);
      }
    }
    return answered;
  }

  /** Returns the first of these calls, as many as fit into one request. */
  private batchOf(calls: readonly WrittenCall[]): readonly WrittenCall[] {
    let length = 0;
    const end = calls.findIndex(({ text }, at) => {
      length += text.length;
      return at > 0 && length > BATCH_LENGTH_MAX;
    });
    return end === -1 ? calls : calls.slice(0, end);
  }

  private async request(calls: readonly WrittenCall[], may: Allowed): Promise<Envelope[]> {
    const requests = calls.map(({ method, text }) => ({ id: (this.calls += 1), method, text }));
    const bodies = requests.map(
      ({ id, method, text }) => `{"jsonrpc":"2.0","id":${String(id)},"method":"${method}","params":${text}}`,
    );
    const body = bodies.length === 1 ? (bodies[0] ?? '') : `[${bodies.join(',')}]`;
    const asked = calls.find(({ blocks }) => blocks)?.blocks;
    await this.waitForPlace();
    const madeAt = performance.now();
    const only = requests.length === 1 ? requests[0] : undefined;
    const about = { asked, method: only?.method };
    const answer = await this.post(body, { ...limitAnswer(calls), ...may }, about).catch((error: unknown) => {
      this.slowDown(error, madeAt);
      if (!may.errors || !(error instanceof NoMethod)) throw error;
      return { id: only?.id, error: { code: METHOD_NOT_FOUND, message: error.message } };
    });
    const envelopes = (Array.isArray(answer) ? answer : [answer]).filter(isEnvelope).map(withNumber);
    const ids = new Set<unknown>(requests.map(({ id }) => id));
    for (const { id, error } of envelopes) {
      if (error == null) continue;
      const { method } = requests.find((request) => request.id === id) ?? only ?? {};
      const refusal = this.refusal(error, codesOf(error), { asked, method });
      this.slowDown(refusal, madeAt);
      const isOfOneCall = may.errors && ids.has(id) && !(requests.length > 1 && refusal.why.kind === 'no-batch');
      if (!isOfOneCall) throw refusal;
    }
    this.rate.answered(performance.now());
    const byId = new Map(envelopes.map((envelope) => [envelope.id, envelope]));
    return requests.map(({ id, method }) => {
      const envelope = byId.get(id);
      if (envelope?.error == null && envelope?.result === undefined)
        throw new NoAnswer({ kind: 'failed' }, `no answer to ${method}`);
      return envelope;
    });
  }

  private async waitForPlace(): Promise<void> {
    const now = performance.now();
    const waitMs = this.rate.waitMs(now);
    if (waitMs > WAIT_MAX_MS) {
      const why: Refusal = { kind: 'rate-limited', retryAfterMs: waitMs };
      throw new NoAnswer(why, `it takes no requests for another ${String(Math.ceil(waitMs / 1_000))} s`);
    }
    this.rate.take(now);
    if (waitMs > 0) await pause(waitMs, this.closing);
  }

  private slowDown(error: unknown, madeAt: number): void {
    if (!(error instanceof NoAnswer) || error.why.kind !== 'rate-limited') return;
    this.rate.refused(madeAt, performance.now(), error.why.retryAfterMs);
  }

  private async post(body: string, limit: AnswerLimit & Allowed, about: About): Promise<unknown> {
    const { withinMs = this.withinMs } = limit;
    const late = AbortSignal.timeout(withinMs);
    try {
      const signal = AbortSignal.any([late, this.closing]);
      const headers = { 'content-type': 'application/json', ...this.address.headers };
      const response = await fetch(this.address.url, { method: 'POST', headers, body, redirect: 'error', signal });
      const bytes = await readWhole(response, limit, about.asked);
      if (!response.ok) throw this.failure(errorOfFailure(bytes), response, about);
      return (
        parseAnswer(bytes) ?? this.fail('the answer is not valid JSON, is nested too deeply or has too many values')
      );
    } catch (error) {
      if (error instanceof NoAnswer) throw error;
      if (late.aborted) throw new NoAnswer({ kind: 'too-slow' }, `no answer within ${String(withinMs)} ms`);
      throw new NoAnswer({ kind: 'failed' }, this.address.redact(fetchFailure(error)));
    }
  }

  private failure(error: unknown, { status, headers }: Response, about: About): NoAnswer {
    const codes = { ...codesOf(error), httpStatus: status, retryAfterMs: retryAfterMs(headers.get('retry-after')) };
    const refusal = this.refusal(error, codes, about);
    const { why, message } = refusal;
    const text = `HTTP ${String(status)} ${message}`;
    if (refusal instanceof NoMethod) return new NoMethod(refusal.method, text);
    if (why.kind !== 'other') return new NoAnswer(why, text);
    const hasFailed = status >= SERVER_ERROR && typeof error === 'string';
    return new NoAnswer(TIMEOUT_STATUS.has(status) ? { kind: 'too-slow' } : hasFailed ? { kind: 'failed' } : why, text);
  }

  private refusal(error: unknown, codes: RefusalCodes, { asked, method }: About): NoAnswer {
    const why = refusalOf(textOfError(error).slice(0, REFUSAL_MAX), codes, asked);
    const message = this.address.redact(messageOf(error).slice(0, REFUSAL_MAX));
    const lacksMethod = why.kind === 'other' && saysNoMethod({ code: codes.code, message });
    return lacksMethod && method !== undefined ? new NoMethod(method, message) : new NoAnswer(why, message);
  }

  private fail(message: string): never {
    throw new NoAnswer({ kind: 'failed' }, message);
  }
}

const CONTENT_TOO_LARGE = 413;
const SERVER_ERROR = 500;
/** Sent by the endpoint, by a gateway in front of it, and by Cloudflare. */
const TIMEOUT_STATUS = new Set([408, 504, 524]);

type AnswerLimit = ReturnType<typeof limitAnswer>;

const isEnvelope = (value: unknown): value is Envelope => typeof value === 'object' && value !== null;

/** Some servers send the id as text. */
const withNumber = (envelope: Envelope): Envelope =>
  typeof envelope.id === 'string' ? { ...envelope, id: Number(envelope.id) } : envelope;

const readWhole = async (
  response: Response,
  { bytesMax, isCut }: AnswerLimit,
  asked: BlockRange | undefined,
): Promise<Buffer> => {
  if (!response.body) return Buffer.alloc(0);
  const body: AsyncIterable<Uint8Array> = response.body;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > bytesMax) {
      const why: Refusal = isCut ? { kind: 'no-batch' } : refusalOf('', { httpStatus: CONTENT_TOO_LARGE }, asked);
      throw new NoAnswer(why, `an answer of more than ${String(bytesMax)} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
};

/** The text of an error, for people. */
const messageOf = (error: unknown): string => {
  const { message, data } = Object(error) as { message?: unknown; data?: unknown };
  const texts = [error, message, data].filter((text) => typeof text === 'string');
  return texts.length > 0 ? texts.join(' ') : JSON.stringify(error);
};

const codesOf = (error: unknown): RefusalCodes => {
  const { code } = Object(error) as { code?: unknown };
  return { code: typeof code === 'number' ? code : undefined };
};

/** Reads an answer whose status is not 200: an envelope, a bare error, or a page. */
const errorOfFailure = (bytes: Buffer): unknown => {
  const answer = parseAnswer(bytes);
  const bodies = Array.isArray(answer) ? (answer as unknown[]) : [answer];
  const body = bodies.find((one) => isEnvelope(one) && one.error != null) ?? bodies[0];
  return isEnvelope(body) ? (body.error ?? body) : bytes.toString('utf8', 0, REFUSAL_MAX);
};
