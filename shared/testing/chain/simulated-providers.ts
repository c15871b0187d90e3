import { untilAborted } from '../../primitives/waiting/until-aborted.ts';
import { inSimulation } from '../simulation/simulated-globals.ts';
import { SimulatedTime } from '../simulation/simulated-time.ts';
import type { MemoryChain } from './chain-reader.memory.ts';
import { NodeAnswers } from './node-answers.ts';

/** A node of a simulation. It answers at once, unless a test says otherwise. */
export class SimulatedProvider extends NodeAnswers {
  /** Answers the HTTP request itself; `honest` is the true answer. */
  respond: ((honest: string) => Response | Promise<Response>) | undefined;

  constructor(
    readonly url: string,
    chain: MemoryChain,
  ) {
    super(chain);
  }

  /** Answers like `fetch`: an abort ends the wait for the answer, and the reading of its body. */
  async fetch({ body, signal }: RequestInit): Promise<Response> {
    const honest = await this.answerTo(typeof body === 'string' ? body : '');
    const answer = Promise.resolve(this.respond?.(honest) ?? new Response(honest));
    const response = await untilAborted(answer, signal ?? undefined);
    if (!response.body || !signal) return response;
    const read = response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal });
    return new Response(read, response);
  }
}

/** An answer that never comes. */
export const silence = (): Promise<Response> => new Promise(() => undefined);

interface Simulated {
  first: SimulatedProvider;
  second: SimulatedProvider;
  time: SimulatedTime;
}

/** Runs a test with two nodes of a chain, in simulated time. Answers take no time. */
export const withProviders = (chain: MemoryChain, test: (simulated: Simulated) => Promise<void>): Promise<void> => {
  const first = new SimulatedProvider('http://first.test/', chain);
  const second = new SimulatedProvider('http://second.test/', chain);
  const time = new SimulatedTime(Date.now());
  const fetch = (url: Parameters<typeof globalThis.fetch>[0], request: RequestInit = {}): Promise<Response> => {
    const asked = [first, second].find((one) => one.url === url);
    return asked ? asked.fetch(request) : Promise.reject(new Error('there is no such node'));
  };
  return inSimulation({ time, random: () => 0.5, fetch }, () => test({ first, second, time }));
};
