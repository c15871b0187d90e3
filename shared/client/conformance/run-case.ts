import { isAborted } from '../../primitives/waiting/is-aborted.ts';
import { untilAborted } from '../../primitives/waiting/until-aborted.ts';
import { pause } from '../../primitives/waiting/pause.ts';
import { CaseRun, Unmet, type CheckedNode } from './case-run.ts';
import { TRANSFER, TRANSFER_ABI } from './checked-chain.ethers.ts';
import type { ConformanceCase, Need } from './conformance-case.ts';
import { isObject, textOf, type Json } from './json-value.ts';
import { askPage } from './steps/http-requests.ts';
import { stepsByName } from './steps/steps.ts';

export interface Outcome {
  id: string;
  title: string;
  promise: string;
  result: 'ok' | 'failed' | 'skipped';
  tookMs: number;
  /** Why it was skipped, or what kept it from being run to its end. */
  reason?: string;
  /** The number and name of the step that failed. */
  step?: string;
  expected?: unknown;
  came?: unknown;
}

/** How long it may take to close and unregister what a case opened. */
const ENDS_WITHIN_MS = 10_000;
/** Characters of `$large`: more than a message may have. */
const TOO_LARGE = 70_000;

/**
 * Runs a case against a node, and removes what it registered.
 * @param lacking why the node or its chain does not have what some cases need
 * @throws what the signal aborts with
 */
export const runCase = async (
  { id, title, promise, needs, hasContract, values, steps }: ConformanceCase,
  node: CheckedNode,
  { lacking, signal }: { lacking: ReadonlyMap<Need, string>; signal: AbortSignal },
): Promise<Outcome> => {
  const about = { id, title, promise };
  const reason = [...needs].map((need) => lacking.get(need)).find((found) => found !== undefined);
  if (reason !== undefined) return { ...about, result: 'skipped', tookMs: 0, reason };
  const began = performance.now();
  const took = () => Math.round(performance.now() - began);
  const run = new CaseRun(node, signal);
  for (const [name, value] of Object.entries(values)) run.remember(name, value);
  run.remember('large', 'x'.repeat(TOO_LARGE));
  run.remember('node', { origin: new URL(node.streamUrl).origin, chainId: node.chain.chainId });
  let at = 'before the first step';
  try {
    if (hasContract) await untilAborted(registerContract(run), signal);
    for (const [index, { name, parameters }] of steps.entries()) {
      signal.throwIfAborted();
      at = `${String(index + 1)} ${name}`;
      await untilAborted(stepsByName[name].run(parameters, run), signal);
    }
    return { ...about, result: 'ok', tookMs: took() };
  } catch (error) {
    if (isAborted(signal)) throw error;
    return { ...about, result: 'failed', tookMs: took(), step: at, ...failureOf(error) };
  } finally {
    await run.end();
  }
};

const failureOf = (error: unknown): Pick<Outcome, 'reason' | 'expected' | 'came'> => {
  if (error instanceof Unmet) return { expected: error.expected, came: withoutUnnamed(error) };
  if (!(error instanceof Error)) return { reason: String(error) };
  return { reason: error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message };
};

/** Of an HTTP answer, leaves out the headers and the text unless they are what was expected. */
const withoutUnnamed = ({ expected, came }: Unmet): unknown => {
  if (typeof came !== 'object' || came === null || !('headers' in came)) return came;
  const named = typeof expected === 'object' && expected !== null ? expected : {};
  return Object.fromEntries(
    Object.entries(came).filter(([name]) => name in named || !['headers', 'text', 'tookMs'].includes(name)),
  );
};

/** Deploys a contract that only this case knows, registers its event at the catcher, and waits until it is live. */
const registerContract = async (run: CaseRun): Promise<void> => {
  const { chain, eventUrl } = run.node;
  const { address, startBlock } = await chain.deploy();
  const authorization = `Bearer ${await run.node.token()}`;
  const url = new URL(`${eventUrl}/api/v1/contracts`);
  const body = {
    chainId: chain.chainId,
    ...{ contractAddress: address, eventSignature: TRANSFER, eventAbi: TRANSFER_ABI, startBlock },
  };
  let sent: Promise<Json> | undefined;
  // An interruption may come between the registration and its answer, so the end waits for the answer.
  run.finally(async () => {
    const watchId = registeredBy(await sent?.catch(() => undefined));
    if (watchId !== undefined) await unregister(run, watchId);
  });
  const ask = async (): Promise<Json> => {
    run.signal.throwIfAborted();
    const signal = AbortSignal.timeout(Math.max(run.node.withinMs, ENDS_WITHIN_MS));
    sent = askPage(url, { method: 'POST', headers: { authorization }, body, signal });
    const answer = await sent;
    const retryAfter = isObject(answer) && isObject(answer['headers']) ? answer['headers']['retry-after'] : undefined;
    if (retryAfter !== undefined) await pause(Number(retryAfter) * 1_000, run.signal);
    return answer;
  };
  const isAnswered = (answer: Json) => isObject(answer) && ![429, 503].includes(Number(answer['status']));
  const answer = await run.until({ status: 201 }, ask, isAnswered);
  const watchId = registeredBy(answer);
  if (watchId === undefined) throw new Unmet({ status: 201 }, answer);
  run.contract = { address, startBlock, watchId };
  run.newestBlock = startBlock;
  const statusUrl = new URL(`${eventUrl}/api/v1/status/${String(chain.chainId)}/${address}/Transfer`);
  const readState = async () => {
    const { body: told } = (await askPage(statusUrl, { signal: run.signal })) as { body?: Json };
    return isObject(told) ? (told['state'] ?? null) : null;
  };
  await run.until({ state: 'live' }, readState, (state) => state === 'live');
};

/** Returns the id of what an answer says was registered by it. */
const registeredBy = (answer: Json | undefined): string | undefined => {
  const { status, body } = isObject(answer) ? answer : {};
  return status === 201 && isObject(body) ? textOf(body['id']) : undefined;
};

/** Also after Ctrl-C. A case may have removed it itself. */
const unregister = async ({ node }: CaseRun, watchId: string): Promise<void> => {
  const authorization = `Bearer ${await node.token()}`;
  const url = new URL(`${node.eventUrl}/api/v1/contracts/${watchId}`);
  await askPage(url, { method: 'DELETE', headers: { authorization }, signal: AbortSignal.timeout(ENDS_WITHIN_MS) });
};
