import { z } from 'zod';
import { problem } from '../http/problem.ts';
import { address, blockNumber, chainId, isoTime } from '../values.ts';

/** `latest`: every change as it is observed. `finalized`: each event once, when its block is final. */
export const finality = z.enum(['latest', 'finalized']);
export type Finality = z.infer<typeof finality>;

/** Opaque. Works on every node for as long as the topic is kept. */
export const streamCursor = z.string().min(1).max(100);

export const subscribe = z.object({
  chainId,
  contractAddress: address,
  eventSignature: z
    .string()
    .min(1)
    .max(2_048)
    .describe("the event's name; its signature without names where the contract has two of that name"),
  watchId: z.string().max(64).optional().describe('the id of one of several registrations of the event'),
  cursor: streamCursor.optional().describe('continue strictly after its event'),
  fromBlock: blockNumber
    .optional()
    .describe('events of this block and later: history first, then live; not together with a cursor'),
  finality: finality.default('latest'),
});
export type Subscribe = z.infer<typeof subscribe>;

export const unsubscribe = z.object({ subscriptionId: z.string().min(1).max(100) });

export const refresh = z.object({ token: z.string().min(1).max(10_000) });

/** Of a watch as a subscriber learns it; `failed`: it, or its chain, cannot be read at present. */
export const readState = z.enum(['live', 'paused', 'failed']);
export type ReadState = z.infer<typeof readState>;

export const subscribed = z.object({
  ok: z.literal(true),
  subscriptionId: z.string(),
  channel: z.string().describe('watch, chain, contract, event and finality; the same text as in each event'),
  cursor: streamCursor.describe('where the subscription begins: subscribing with it gives the same again'),
  state: z
    .enum(['catching_up', ...readState.options])
    .describe('paused and failed are said of the watch, whether the subscription catches up or not'),
});
export type Subscribed = z.infer<typeof subscribed>;

export const unsubscribed = z.object({ ok: z.literal(true) });

export const refreshed = z.object({ ok: z.literal(true), expiresAt: isoTime.describe('expiry of the token') });

/** The answer to a refused command. */
export const commandRefused = z.object({
  ok: z.literal(false),
  error: problem.pick({ code: true, title: true, detail: true, retryAfter: true }),
});
export type CommandRefused = z.infer<typeof commandRefused>;

/** `connect_error.data`: the reason why a connection was refused. */
export const connectionRefused = problem.pick({ code: true, title: true, detail: true, retryAfter: true });
export type ConnectionRefused = z.infer<typeof connectionRefused>;

/** Client → server, each acknowledged with its answer or `commandRefused`. */
export const streamCommands = {
  subscribe: { payload: subscribe, answer: subscribed },
  unsubscribe: { payload: unsubscribe, answer: unsubscribed },
  refresh: { payload: refresh, answer: refreshed },
} as const;
