import {
  applyDecorators,
  createParamDecorator,
  Delete,
  Get,
  Post,
  SetMetadata,
  type StreamableFile,
  type ExecutionContext,
} from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { RouteContract } from '../../../schemas/http/route.ts';
import type { Position } from '../../event-store/event-store.ts';
import type { AppCaller, AppItselfCaller, TokenCaller, UserCaller } from '../../auth/caller.ts';
import type { RequestContext } from './request-context.ts';
import { parseRequest } from './parse-request.ts';

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;
type BearerOf<Contract extends RouteContract> = Contract['connectionTokens'] extends true
  ? TokenCaller
  : Contract['appTokens'] extends true
    ? UserCaller | AppItselfCaller
    : UserCaller;
type CallerOf<Contract extends RouteContract> = Contract['auth'] extends 'bearer'
  ? BearerOf<Contract> | (Contract['hasOwnGuard'] extends true ? undefined : never)
  : Contract['auth'] extends 'app'
    ? AppCaller
    : undefined;

/** A parsed request, admitted by the guards. */
export interface ParsedRequest<Contract extends RouteContract> {
  params: Parsed<Contract['params']>;
  query: Parsed<Contract['query']>;
  body: Contract['readsBody'] extends object ? Buffer | undefined : Parsed<Contract['body']>;
  caller: CallerOf<Contract>;
  context: RequestContext;
}

/** The answer of a command; `position` becomes `x-position`. */
export interface CommandAnswer<Body> {
  body: Body;
  position: Position;
  /** Set if it differs from the contract's. */
  status?: 200 | 201 | 204;
  /** Set if the answer starts a session: once that has ended, the answer is not repeated. */
  sessionId?: string;
}

type AnswerOf<Contract extends RouteContract> = Contract['command'] extends true
  ? CommandAnswer<z.output<Contract['answer']>>
  : Contract extends { answerType: string } | { isStreamed: true }
    ? StreamableFile
    : z.output<Contract['answer']> | (Contract['streams'] extends object ? StreamableFile : never);

export interface ImplementsOptions {
  /** The projections that the query reads: `x-min-position` waits for them. */
  reads?: readonly string[];
  /** Additional time until the answer, beyond that of other requests. The body is not parsed yet. */
  moreTimeMs?: (request: FastifyRequest) => number;
  /** Whether the answer may last, so that an operator's switch to another version of a read model must not wait for it. */
  mayLast?: true;
}

const BOUND_ROUTE = 'annals:route';
export interface BoundRoute extends ImplementsOptions {
  contract: RouteContract;
}

const methods = { GET: Get, POST: Post, DELETE: Delete };

const AskedParameter = createParamDecorator((contract: RouteContract, context: ExecutionContext) =>
  parseRequest(contract, context.switchToHttp().getRequest<FastifyRequest>()),
);

/**
 * Binds a method of a controller to its contract: route, guards, rate limit, parsing, status, `Idempotency-Key`,
 * `x-position` and `x-min-position`. The method has one parameter, `ParsedRequest<typeof contract>`, and returns the
 * answer (for a command: `CommandAnswer`). Refusals that it throws become problem documents.
 */
export const Implements =
  <const Contract extends RouteContract>(contract: Contract, options: ImplementsOptions = {}) =>
  <Handler extends (request: ParsedRequest<Contract>) => Promise<AnswerOf<Contract>>>(
    target: object,
    name: string,
    descriptor: TypedPropertyDescriptor<Handler>,
  ): void => {
    const path = contract.path.replaceAll(/\{(\w+)\}/g, ':$1').replace(/\{\+\w+\}$/, '*');
    const bound: BoundRoute = { contract, ...options };
    AskedParameter(contract)(target, name, 0);
    const isPublic = contract.auth === 'none' && contract.method === 'GET';
    const config = RouteConfig({ bodyBytesMax: contract.readsBody?.bytesMax, isPublic });
    applyDecorators(methods[contract.method](path), config, SetMetadata(BOUND_ROUTE, bound))(target, name, descriptor);
  };

/** Returns the contract of the handler; `undefined` for health routes and documents. */
export const boundRoute = (context: ExecutionContext): BoundRoute | undefined =>
  Reflect.getMetadata(BOUND_ROUTE, context.getHandler()) as BoundRoute | undefined;
