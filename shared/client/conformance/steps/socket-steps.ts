import { z } from 'zod';
import { Unmet, type CaseRun } from '../case-run.ts';
import { json, isObject, type Json } from '../json-value.ts';
import { matches } from '../pattern.ts';
import { Connection } from '../readers/connection.socketio.ts';
import { CAUGHT_UP, channelWith, expectValue, name, parameters, pattern, step, token, tokenOf } from './step.ts';

/** Subscribes to the event of the case's contract, once the read model is not behind. */
export const subscribe = (run: CaseRun, connection: Connection, more: Record<string, Json>): Promise<Json> =>
  expectValue(run, CAUGHT_UP, () => connection.command('subscribe', channelWith(run, more)));

/** Fails unless an answer, which comes once, is as expected. */
const requireAnswer = (expected: Json | undefined, answer: Json): void => {
  if (expected !== undefined && !matches(expected, answer)) throw new Unmet(expected, answer);
};

const ACCEPTED: Json = { ok: true };

export const socketSteps = {
  /** Connects a socket. `expect` is matched to `{refused}`, which has `connect_error.data`, or `null`. */
  connect: step(
    z.strictObject({ as: name.default('socket'), token, origin: z.string().optional(), expect: pattern.optional() }),
    async ({ as, token: asked, origin, expect }, run) => {
      const { streamUrl, withinMs } = run.node;
      const options = { streamUrl, token: await tokenOf(asked, run), origin, withinMs };
      const { connection, refused = null } = await Connection.open(options);
      run.addConnection(as, connection);
      requireAnswer(expect ?? { refused: null }, { refused });
    },
  ),

  /** Subscribes to the event of the case's contract; what comes is read as `as`. */
  subscribe: step(
    z.strictObject({
      on: name.default('socket'),
      as: name.optional(),
      with: parameters.default({}),
      expect: pattern.optional(),
    }),
    async ({ on, as, with: more, expect = ACCEPTED }, run) => {
      const connection = run.connection(on);
      const answer = await subscribe(run, connection, more);
      requireAnswer(expect, answer);
      if (as !== undefined) run.addReader(as, connection.subscription(answer));
    },
  ),

  /** Sends any command. */
  command: step(
    z.strictObject({ on: name.default('socket'), name: z.string(), payload: json, expect: pattern.default(ACCEPTED) }),
    async ({ on, name: command, payload, expect }, run) => {
      // The token of this run is not written in a file of cases.
      const sent =
        isObject(payload) && payload['token'] === 'valid' ? { ...payload, token: await run.node.token() } : payload;
      requireAnswer(expect, await run.connection(on).command(command, sent));
    },
  ),
};
