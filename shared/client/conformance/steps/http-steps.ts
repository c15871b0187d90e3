import { z } from 'zod';
import { Unmet, type CaseRun } from '../case-run.ts';
import type { Json } from '../json-value.ts';
import { matches } from '../pattern.ts';
import { addressWith, askCaughtUpPage, askPage, openEvents, streamAddress } from './http-requests.ts';
import { CAUGHT_UP, channelWith, expectValue, name, parameters, pattern, step, token, tokenOf } from './step.ts';

const headers = z.record(z.string(), z.string()).default({});
const request = z.strictObject({
  as: name.optional(),
  query: parameters.default({}),
  /** Sends the token in the address instead of the header. */
  inAddress: z.boolean().default(false),
  token,
  headers,
  expect: pattern.default({ status: 200 }),
});
type Request = z.output<typeof request>;

/** Of pages that were asked for and have not been answered yet. */
const waiting = new WeakMap<CaseRun, Map<string, Promise<Json>>>();

const withToken = async ({ query, headers: sent, token: asked, inAddress }: Request, run: CaseRun) => {
  const text = await tokenOf(asked, run);
  return {
    url: streamAddress(run, { ...query, ...(inAddress && text !== undefined && { access_token: text }) }),
    headers: { ...sent, ...(!inAddress && text !== undefined && { authorization: `Bearer ${text}` }) },
  };
};

const requireAnswer = ({ as, expect }: Pick<Request, 'as' | 'expect'>, answer: Json, run: CaseRun): void => {
  if (as !== undefined) run.remember(as, answer);
  if (!matches(expect, answer)) throw new Unmet(expect, answer);
};

export const httpSteps = {
  /**
   * Asks for a page. `expect` is matched to `{status, headers, body, tookMs}`. `eventually` asks again until it is as
   * expected: of several nodes behind one address, one may be behind another.
   */
  page: step(request.extend({ eventually: z.boolean().default(false) }), async ({ eventually, ...asked }, run) => {
    const { url, ...rest } = await withToken(asked, run);
    const ask = () => askPage(url, { ...rest, signal: run.signal });
    requireAnswer(asked, await expectValue(run, eventually ? asked.expect : CAUGHT_UP, ask), run);
  }),

  /** Asks for a page without waiting for its answer. */
  ask: step(request.required({ as: true }).omit({ expect: true }), async (asked, run) => {
    const { url, ...rest } = await withToken({ ...asked, expect: null }, run);
    const answer = askCaughtUpPage(run, url, { ...rest, signal: run.signal });
    // It is looked at by the step `answered`.
    answer.catch(() => undefined);
    const ofRun = waiting.get(run) ?? new Map<string, Promise<Json>>();
    waiting.set(run, ofRun.set(asked.as, answer));
  }),

  /** Waits for the answer to a page. */
  answered: step(
    z.strictObject({ as: name, expect: pattern.default({ status: 200 }) }),
    async ({ as, expect }, run) => {
      requireAnswer({ as, expect }, (await waiting.get(run)?.get(as)) ?? null, run);
    },
  ),

  /** Opens server-sent events. `expect` is matched to `{status, headers}`, and `body` unless they begin. */
  stream: step(request, async (asked, run) => {
    const { url, headers: sent } = await withToken(asked, run);
    const { stream, answer } = await openEvents(run, url, sent);
    if (asked.as !== undefined) run.addReader(asked.as, stream);
    else stream.close();
    if (!matches(asked.expect, answer)) throw new Unmet(asked.expect, answer);
  }),

  /** Asks for any path of the node, without a token. */
  get: step(
    z.strictObject({ path: z.string(), headers, expect: pattern }),
    async ({ path, headers: sent, expect }, run) => {
      requireAnswer(
        { as: undefined, expect },
        await askPage(new URL(run.node.streamUrl + path), { headers: sent }),
        run,
      );
    },
  ),

  /** Queries the event catcher until the answer is as expected. */
  query: step(request, async ({ as, query, expect }, run) => {
    const authorization = `Bearer ${await run.node.token()}`;
    const url = addressWith(`${run.node.eventUrl}/api/v1/events`, channelWith(run, query));
    const answer = await expectValue(run, expect, () =>
      askPage(url, { headers: { authorization }, signal: run.signal }),
    );
    if (as !== undefined) run.remember(as, answer);
  }),

  /** Pauses, resumes or removes the registration of the case's event, which is this run's own. */
  watch: step(z.strictObject({ to: z.enum(['pause', 'resume', 'remove']) }), async ({ to }, run) => {
    const { watchId } = run.contract;
    const base = `${run.node.eventUrl}/api/v1/contracts/${watchId}`;
    const authorization = `Bearer ${await run.node.token()}`;
    const [method, url] = to === 'remove' ? ['DELETE', base] : ['POST', `${base}/${to}`];
    const expected = { status: to === 'remove' ? 204 : 200 };
    const answer = await askCaughtUpPage(run, new URL(url), { method, headers: { authorization } });
    if (!matches(expected, answer)) throw new Unmet(expected, answer);
  }),
};
