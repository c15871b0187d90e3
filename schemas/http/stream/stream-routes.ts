import { z } from 'zod';
import { finality, streamCursor, subscribe } from '../../socket/stream-commands.ts';
import { gap, streamEvent } from '../../socket/stream-messages.ts';
import { blockNumber, chainId, contractInput } from '../../values.ts';
import { route } from '../route.ts';

const number = z.coerce.number();

export const streamPage = z.object({
  items: z.array(streamEvent),
  cursor: streamCursor.describe('ask with it for what comes next'),
  live: z.boolean().describe('whether there was nothing after these items'),
  gap: gap
    .omit({ subscriptionId: true })
    .nullable()
    .describe('set, instead of items, where changes after the cursor are no longer kept'),
});
export type StreamPage = z.infer<typeof streamPage>;

/** The routes of the stream. Socket.IO has its own commands. */
export const streamRoutes = {
  readStream: route({
    service: 'stream',
    method: 'GET',
    path: '/api/v1/stream',
    summary: 'The changes of an event of a contract: pages that can wait for more, or server-sent events',
    auth: 'bearer',
    appTokens: true,
    connectionTokens: true,
    hasOwnGuard: true,
    query: z.object({
      chainId: number.pipe(chainId),
      contractAddress: contractInput,
      eventSignature: subscribe.shape.eventSignature,
      watchId: subscribe.shape.watchId,
      finality: finality.default('latest'),
      fromBlock: number
        .pipe(blockNumber)
        .optional()
        .describe('the records of this block and later ones first; not together with a cursor'),
      cursor: streamCursor.optional().describe('what comes strictly after it; without it and fromBlock: from now'),
      take: number.pipe(z.int().min(1).max(1_000)).default(100).describe('maximum items of a page'),
      wait: number
        .pipe(z.int().min(1).max(30))
        .optional()
        .describe('seconds that an empty page waits for something to come'),
      access_token: z
        .string()
        .max(10_000)
        .optional()
        .describe('the token, for clients that cannot set headers; a public chain needs none'),
    }),
    status: 200,
    answer: streamPage,
    isStreamed: true,
    streams: {
      'text/event-stream': z
        .string()
        .describe(
          'the messages of the socket: event has its name, data its payload, id the cursor. ' +
            'Last-Event-ID resumes, and wins over cursor and fromBlock',
        ),
    },
    problems: ['origin_not_allowed', 'watch_not_found', 'cursor_invalid', 'not_caught_up', 'session_revoked'],
  }),
} as const;
