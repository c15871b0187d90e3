import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { requestHeaders } from '../../schemas/http/headers.ts';
import { invalid } from '../errors/refusal.ts';
import type { RouteContract } from '../../schemas/http/route.ts';
import { sha256 } from '../primitives/ids.ts';
import type { Caller } from '../auth/caller.ts';
import { boundRoute, type BoundRoute, type CommandAnswer } from './implements.ts';
import { parseRequest } from './parse-request.ts';
import { PositionHeader } from './position-header.ts';
import { problemHeaders, problemOf, refusalOf } from './problem-document.ts';
import { Projections } from './projections.ts';
import { requestMetadata } from './request-context.ts';
import { IdempotentRequests, type StoredAnswer } from './idempotent-requests.ts';

/** Answers as contracts define: status, positions, and the first answer again for a repeated command. */
@Injectable()
export class AnswerInterceptor implements NestInterceptor {
  constructor(
    private readonly readModels: Projections,
    private readonly requests: IdempotentRequests,
    private readonly positions: PositionHeader,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const bound = boundRoute(context);
    if (!bound) return next.handle();
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    request.deadline?.extend(bound.moreTimeMs?.(request) ?? 0);
    const handle = () => lastValueFrom(next.handle() as Observable<unknown>);
    return from(
      bound.contract.command ? this.command(bound, request, reply, handle) : this.query(bound, request, reply, handle),
    );
  }

  private async query(bound: BoundRoute, request: FastifyRequest, reply: FastifyReply, handle: () => Promise<unknown>) {
    const header = request.headers['x-min-position'];
    if (header !== undefined) {
      const position = this.positions.read(String(header));
      await Promise.all((bound.reads ?? []).map((projection) => this.readModels.reached(projection, position)));
    }
    const answer = await handle();
    reply.status(request.answerStatus ?? bound.contract.status);
    return answer;
  }

  private async command(
    bound: BoundRoute,
    request: FastifyRequest,
    reply: FastifyReply,
    handle: () => Promise<unknown>,
  ) {
    const carryOut = async (): Promise<StoredAnswer> => {
      const { body, position, status, sessionId } = (await handle()) as CommandAnswer<unknown>;
      request.callerIsKnown = true;
      const headers = { 'x-position': this.positions.write(position) };
      return { status: status ?? bound.contract.status, headers, body, sessionId };
    };
    const { caller } = request;
    // Nothing is stored for a caller who is not known.
    const key = caller && idempotencyKey(request);
    const answer =
      caller === undefined || key === undefined
        ? await carryOut()
        : await this.once({ key, caller: callerKey(caller, bound.contract, request) }, request, carryOut);
    reply.status(answer.status).headers(answer.headers);
    return answer.body;
  }

  private async once(
    { key, caller }: { key: string; caller: string },
    request: FastifyRequest,
    carryOut: () => Promise<StoredAnswer>,
  ): Promise<StoredAnswer> {
    let temporaryError: unknown;
    const answer = await this.requests.once(
      {
        caller,
        key,
        fingerprint: sha256(
          Buffer.concat([Buffer.from(`${request.method} ${request.url}\n`), request.rawBody ?? Buffer.alloc(0)]),
        ),
        userId: request.caller?.kind === 'user' ? request.caller.userId : undefined,
        metadata: requestMetadata(request),
      },
      (onceId) => {
        request.onceId = onceId;
        return carryOut().catch((error: unknown) => {
          const refused = refusedAnswer(error, request.id);
          if (!refused) temporaryError = error;
          return refused;
        });
      },
    );
    if (!answer) throw temporaryError;
    return answer;
  }
}

/** Returns the answer that a repeated request receives too, unless the refusal is temporary. */
const refusedAnswer = (error: unknown, requestId: string): StoredAnswer | undefined => {
  const body = problemOf(refusalOf(error), requestId);
  if (body.status >= 500 || body.status === 429) return undefined;
  return { status: body.status, headers: problemHeaders(body), body };
};

const idempotencyKey = ({ headers }: FastifyRequest): string | undefined => {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !requestHeaders['idempotency-key'].pattern.test(key)) {
    throw invalid({ path: 'idempotency-key', message: 'is not 1 to 128 visible characters' });
  }
  return key;
};

/**
 * Who may repeat a request: a session, or at an app whoever logs in. It parses the request, so that one which does not
 * validate is refused before anything is stored.
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
