import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { logRefusal } from '../../errors/log-refusal.ts';
import { problemHeaders, problemOf, refusalOf } from './problem-document.ts';

/** Answers any failure with its problem document, and only logs the cause. */
export const sendProblem = (logger: Logger, error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
  const refusal = refusalOf(error);
  const problem = problemOf(refusal, request.id);
  if (problem.status >= 500) logRefusal(logger, refusal, { requestId: request.id }, 'request failed');
  if (reply.sent) return;
  void reply.status(problem.status).headers(problemHeaders(problem)).send(problem);
};

/** Handles what guards, parsing and handlers throw. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendProblem(this.logger, error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }
}
