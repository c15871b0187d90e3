import { z } from 'zod';
import { eventRecord } from '../http/event-catcher/event-record.ts';
import { problem } from '../http/problem.ts';
import { blockNumber, isoTime } from '../values.ts';
import { readState, streamCursor } from './stream-commands.ts';

/** Socket.IO namespace of the stream. */
export const STREAM_NAMESPACE = '/events';

export const change = z.enum(['observed', 'reverted']);
export type Change = z.infer<typeof change>;

export const streamEvent = z.object({
  channel: z.string(),
  cursor: streamCursor.describe('the same for the same stored event on every node, so that clients recognise repeats'),
  change,
  event: eventRecord,
});
export type StreamEvent = z.infer<typeof streamEvent>;

/** Caught up: sent once to a subscription that requested history or gave a cursor. */
export const live = z.object({ subscriptionId: z.string(), cursor: streamCursor });

/** Changes between `requested` and `earliest` are no longer kept. */
export const gap = z.object({
  subscriptionId: z.string(),
  requested: streamCursor,
  earliest: streamCursor.describe('all events after it are kept'),
  resumeWith: streamCursor.describe('where this subscription continues by itself'),
  fromBlock: blockNumber.describe(
    'subscribing anew from this block gives all that is missing, and what came after it, again',
  ),
});

/** The watch was paused, cannot be read, or is read again. The subscription goes on. */
export const state = z.object({
  subscriptionId: z.string(),
  state: readState,
  lastError: z.string().nullable().describe('why it is paused or has failed; null where whoever holds it paused it'),
});

/** The subscription has ended: nothing more will come. `watch_not_found`: the last who held the watch has dropped it. */
export const stopped = z.object({ subscriptionId: z.string(), code: problem.shape.code });

/** The token expires soon: send `refresh`. */
export const expiring = z.object({ expiresAt: isoTime });

/** The node is stopping: reconnect after that time, which differs from client to client. */
export const draining = z.object({ reconnectAfterMs: z.int().nonnegative() });

/** Server → client. */
export const streamMessages = { event: streamEvent, live, gap, state, stopped, expiring, draining } as const;
export type StreamMessages = { [Name in keyof typeof streamMessages]: z.infer<(typeof streamMessages)[Name]> };
