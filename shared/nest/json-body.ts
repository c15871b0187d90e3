import type { FastifyInstance } from 'fastify';
import { Refusal } from '../errors/refusal.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads JSON in UTF-8 only, keeps the bytes in `rawBody`, and refuses members that reach for a prototype. */
export const acceptJsonOnly = (server: FastifyInstance): void => {
  const parse = server.getDefaultJsonParser('error', 'error');
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    request.rawBody = Buffer.from(body);
    const text = decode(request.rawBody);
    if (text === undefined) {
      done(new Refusal('malformed_json', 'the body is no UTF-8'));
      return;
    }
    void parse(request, text, (error, value) => {
      if (!error) done(null, value);
      else if (isJson(text)) done(new Refusal('validation_failed', 'a member has a name that is not allowed'));
      else done(new Refusal('malformed_json', 'the body cannot be read as JSON'));
    });
  });
};

const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
