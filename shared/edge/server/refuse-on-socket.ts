import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Refusal } from '../../errors/refusal.ts';
import { problemHeaders, problemOf } from '../answers/problem-document.ts';

/**
 * Answers a request that could not be read, directly on the socket, and ends the connection.
 * @param isHead whether that is a HEAD request, whose answer has no body
 */
export const refuseOnSocket = (socket: Socket, refusal: Refusal, requestId: string, isHead = false): void => {
  if (!socket.writable) return;
  const problem = problemOf(refusal, requestId);
  const body = JSON.stringify(problem);
  const headers = {
    ...problemHeaders(problem),
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': requestId,
    connection: 'close',
  };
  const status = `HTTP/1.1 ${String(problem.status)} ${STATUS_CODES[problem.status] ?? ''}`;
  const lines = [status, ...Object.entries(headers).map((header) => header.join(': '))];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${isHead ? '' : body}`, () => socket.destroy());
};
