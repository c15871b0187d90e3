import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '../../errors/refusal.ts';
import { isParsable } from '../../primitives/text/json-shape.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Larger limit of a route that takes the body as bytes. */
    bodyBytesMax?: number;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Accepts only JSON in UTF-8, or nothing. Keeps the bytes in `rawBody`, and ignores members that could change a
 * prototype.
 */
export const acceptJsonOnly = (server: FastifyInstance, bytesMax: number): void => {
  const parse = server.getDefaultJsonParser('remove', 'remove');
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { bodyBytesMax } = request.routeOptions.config;
    request.rawBody = await readWhole(payload, bodyBytesMax ?? bytesMax);
    if (bodyBytesMax !== undefined) return request.rawBody;
    // Many clients send the content type with every request, even if a route takes no body.
    if (request.rawBody.length === 0) return undefined;
    const text = decode(request.rawBody);
    if (text === undefined) throw new Refusal('malformed_json', 'the body is not valid UTF-8');
    if (!isParsable(request.rawBody)) throw new Refusal('validation_failed', 'the body is nested too deeply');
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    void parse(request, text, (error, value) => {
      if (!error) resolve(value);
      else reject(new Refusal('malformed_json', 'the body cannot be read as JSON'));
    });
    return promise;
  });
};

/** Refuses a body immediately when it is too large. Node reads and discards the rest. */
const readWhole = (payload: IncomingMessage, bytesMax: number): Promise<Buffer> => {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let length = 0;
  const refuse = (): void => {
    payload.off('data', take);
    chunks.length = 0;
    reject(new Refusal('body_too_large', `a body may have ${String(bytesMax / 1_024)} KiB`));
  };
  const take = (chunk: Buffer): void => {
    length += chunk.length;
    if (length > bytesMax) refuse();
    else chunks.push(chunk);
  };
  payload.once('error', (cause) => {
    reject(new Refusal('malformed_json', 'the body is not as long as content-length says', { cause }));
  });
  if (Number(payload.headers['content-length'] ?? 0) > bytesMax) refuse();
  else {
    payload.on('data', take);
    payload.once('end', () => {
      resolve(Buffer.concat(chunks, length));
    });
  }
  return promise;
};

const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
};
