import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { requestHeaders } from '../../../schemas/http/headers.ts';
import { invalid } from '../../errors/refusal.ts';
import type { RouteContract } from '../../../schemas/http/route.ts';
import { sha256 } from '../../primitives/ids.ts';
import type { Caller } from '../../auth/caller.ts';
import { holderKey, userKey } from '../../auth/holder-key.ts';
import type { Position } from '../../event-store/event-store.ts';
import { boundRoute, type BoundRoute, type CommandAnswer } from '../requests/implements.ts';
import { isKept } from '../requests/kept-refusals.ts';
import { OwnWrites } from './own-writes.ts';
import { parseRequest } from '../requests/parse-request.ts';
import { PositionHeader } from './position-header.ts';
import { problemHeaders, problemOf, refusalOf } from './problem-document.ts';
import { Projections } from './projections.ts';
import { RateLimits } from '../limits/rate-limits.ts';
import { requestMetadata } from '../requests/request-context.ts';
import { IdempotentRequests, type StoredAnswer } from '../requests/idempotent-requests.ts';
import { readingOneVersion } from '../../read-store/versions/versioned-read-store.ts';

/** Estimated bytes of a command's events, and of those for an `Idempotency-Key`, in addition to body and answer. */
const COMMAND_BYTES = 1_000;
/** Sealing turns text into base64. */
const SEALED = 4 / 3;
/** A kept answer is sealed with the service's key, and the result with the user's. */
const SEALED_TWICE = SEALED * SEALED;

/** Answers as contracts define: status, positions, and the first answer again for a repeated command. */
@Injectable()
export class AnswerInterceptor implements NestInterceptor {
  private readonly ownWrites = new OwnWrites();

  constructor(
    private readonly readModels: Projections,
    private readonly requests: IdempotentRequests,
    private readonly positions: PositionHeader,
    private readonly limits: RateLimits,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const bound = boundRoute(context);
    if (!bound) return next.handle();
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    giveTime(request, bound.moreTimeMs?.(request) ?? 0);
    const handle = () => lastValueFrom(next.handle() as Observable<unknown>);
    return from(
      bound.contract.command
        ? this.command(bound, request, reply, handle)
        : bound.mayLast
          ? this.query(bound, request, reply, handle)
          : readingOneVersion(() => this.query(bound, request, reply, handle)),
    );
  }

  private async query(bound: BoundRoute, request: FastifyRequest, reply: FastifyReply, handle: () => Promise<unknown>) {
    const header = request.headers['x-min-position'];
    if (header !== undefined) {
      const position = this.positions.read(String(header));
      await Promise.all((bound.reads ?? []).map((projection) => this.readModels.reached(projection, position)));
    }
    const { caller } = request;
    const own = caller && caller.kind !== 'app' ? this.ownWrites.newest(holderKey(caller)) : undefined;
    if (own !== undefined) {
      await Promise.all((bound.reads ?? []).map((projection) => this.readModels.reachedOnce(projection, own)));
    }
    const answer = await handle();
    reply.status(request.answerStatus ?? bound.contract.status);
    if (request.answerHeaders) reply.headers(request.answerHeaders);
    if (bound.contract.isImmutable) reply.header('cache-control', 'public, max-age=31536000, immutable');
    return answer;
  }

  private async command(
    bound: BoundRoute,
    request: FastifyRequest,
    reply: FastifyReply,
    handle: () => Promise<unknown>,
  ) {
    const { caller } = request;
    // Nothing is stored for an unknown caller.
    const { contract } = bound;
    const key = caller || contract.signedBody ? idempotencyKey(request) : undefined;
    const carryOut = async (): Promise<StoredAnswer> => {
      await this.countBytes(request, key);
      const { body, position, status, sessionId } = (await handle()) as CommandAnswer<unknown>;
      request.callerIsKnown = true;
      this.noteOwnWrite(request.caller, body, position);
      const headers = { 'x-position': this.positions.write(position) };
      const answered = { status: status ?? contract.status, headers, body, sessionId };
      if (key !== undefined) await this.countKept(request, answered);
      return answered;
    };
    const answer =
      key === undefined
        ? await carryOut()
        : caller
          ? await this.once({ key, caller: callerKey(caller, contract, request) }, request, carryOut)
          : await this.requests.onceSigned(
              { key, caller: signerKey(contract, request), ...identity(request) },
              carryOut,
            );
    reply.status(answer.status).headers(answer.headers);
    return answer.body;
  }

  /**
   * Counts the bytes that a command is about to store, by caller and day, because most events are kept for ever. A
   * request repeated with its `Idempotency-Key` stores nothing and is not counted.
   * @throws Refusal rate_limited
   */
  private async countBytes({ caller, rawBody }: FastifyRequest, key: string | undefined): Promise<void> {
    if (!caller || caller.kind === 'app') return;
    const bytes = Math.ceil((rawBody?.length ?? 0) * SEALED) + COMMAND_BYTES;
    await this.limits.countBytes(holderKey(caller), key === undefined ? bytes : bytes + COMMAND_BYTES);
  }

  private async hasUsedUpBytes({ caller }: FastifyRequest): Promise<boolean> {
    if (!caller || caller.kind === 'app') return false;
    return (await this.limits.peek('storedBytes', holderKey(caller)))?.exceeded === true;
  }

  /** Counts an answer that is kept for its key. Does not refuse this command any more, but the next one. */
  private async countKept({ caller }: FastifyRequest, answered: StoredAnswer): Promise<void> {
    if (!caller || caller.kind === 'app') return;
    const bytes = Math.ceil(Buffer.byteLength(JSON.stringify(answered)) * SEALED_TWICE);
    await this.limits.count('storedBytes', holderKey(caller), bytes);
  }

  private noteOwnWrite(caller: Caller | undefined, body: unknown, position: Position): void {
    if (caller && caller.kind !== 'app') this.ownWrites.note(holderKey(caller), position);
    // A login is answered before anybody can use its token.
    else if (isSession(body)) this.ownWrites.note(userKey(body.userId), position);
  }

  private async once(
    { key, caller }: { key: string; caller: string },
    request: FastifyRequest,
    carryOut: () => Promise<StoredAnswer>,
  ): Promise<StoredAnswer> {
    const asked = {
      ...{ caller, key, ...identity(request) },
      userId: request.caller?.kind === 'user' ? request.caller.userId : undefined,
    };
    if (await this.hasUsedUpBytes(request)) {
      // Without this check, a request over the limit would store events for its key too.
      const kept = await this.requests.kept(asked);
      if (kept) return kept;
      await this.countBytes(request, key);
    }
    let temporaryError: unknown;
    const answer = await this.requests.once(asked, (onceId) => {
      request.onceId = onceId;
      return carryOut().catch((error: unknown) => {
        const refused = refusedAnswer(error, request.id);
        if (!refused) temporaryError = error;
        return refused;
      });
    });
    if (!answer) throw temporaryError;
    return answer;
  }
}

/** Distinguishes a request from other requests with the same key. */
const identity = (request: FastifyRequest) => ({
  fingerprint: sha256(
    Buffer.concat([Buffer.from(`${request.method} ${request.url}\n`), request.rawBody ?? Buffer.alloc(0)]),
  ),
  metadata: requestMetadata(request),
});

/** Returns the answer to keep for repeats, if the refusal is one that is kept. */
const refusedAnswer = (error: unknown, requestId: string): StoredAnswer | undefined => {
  const body = problemOf(refusalOf(error), requestId);
  if (!isKept(body.code)) return undefined;
  return { status: body.status, headers: problemHeaders(body), body };
};

/** Extends the time for the answer of a request that has to wait, and the idle timeout of its connection. */
const giveTime = (request: FastifyRequest, moreMs: number): void => {
  if (moreMs === 0) return;
  request.deadline?.extend(moreMs);
  const { socket } = request.raw;
  if (socket.timeout) socket.setTimeout(socket.timeout + moreMs);
};

const isSession = (body: unknown): body is { userId: string } =>
  typeof body === 'object' && body !== null && 'userId' in body && typeof body.userId === 'string';

const idempotencyKey = ({ headers }: FastifyRequest): string | undefined => {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !requestHeaders['idempotency-key'].pattern.test(key)) {
    throw invalid({ path: 'idempotency-key', message: 'is not 1 to 128 visible characters' });
  }
  return key;
};

/**
 * Identifies the caller who may repeat a request: a session, or the person who logs in at an app. Parses the request,
 * so that an invalid one is refused before anything is stored.
 */
const callerKey = (caller: Caller, contract: RouteContract, request: FastifyRequest): string => {
  const { body } = parseRequest(contract, request);
  if (caller.kind === 'user') return `session:${caller.sessionId}`;
  if (caller.kind === 'connection') return `${caller.by}:${caller.userId}`;
  if (caller.kind === 'app-itself') return `app-itself:${caller.appId}`;
  const { identifiedBy } = contract;
  const identity = identifiedBy === undefined ? '' : String((body as Record<string, unknown>)[identifiedBy]);
  return JSON.stringify(['app', caller.appId, identity.toLowerCase()]);
};

/**
 * Identifies the caller by the signed members of the body that the contract names. The signature is verified when the
 * request is carried out.
 */
const signerKey = (contract: RouteContract, request: FastifyRequest): string => {
  const { body } = parseRequest(contract, request);
  const members = body as Record<string, unknown>;
  return JSON.stringify(['signed', contract.path, contract.signedBody?.map((name) => members[name])]);
};
