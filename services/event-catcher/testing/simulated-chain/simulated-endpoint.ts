import { RpcError } from '../../../../shared/testing/chain/wire-forms.ts';
import type { OddCall } from './odd-nodes.ts';
import { answerOfOtherChain } from './other-chain.ts';
import type { Branch, SimulatedChain } from '../../../../shared/testing/chain/simulated-chain.ts';
import { Episodes, type EndpointNature, type EpisodesWorld } from './simulated-habits.ts';
import { SimulatedNode } from './simulated-node.ts';

interface Call {
  id: number;
  method: string;
  params: readonly unknown[];
}

const JSON_HEADERS = { 'content-type': 'application/json' };
const FAILURES = [500, 502, 503, 504, 408];
const NO_BATCHES = ['Batch requests are not supported', 'batch too large', 'batch limit exceeded'];
const TOO_FAST = ['project ID request rate exceeded', 'Too many requests, reason: call rate limit exhausted'];

/** How many blocks the head of another chain is ahead. */
const AHEAD = [-20, 3, 100, 600, 1_000_000];
/**
 * Requests that a gateway may send to another chain. A caller who asks that chain for blocks beyond its head finds out
 * nothing.
 */
const isOfHead = ({ method, params: [name] }: Call): boolean =>
  method === 'eth_chainId' || name === 'latest' || name === 'finalized';

/** An endpoint, as HTTP shows it. */
export class SimulatedEndpoint {
  private readonly episodes: Episodes;
  private readonly node: SimulatedNode;
  private readonly ahead: number;
  private isMisrouted = false;

  constructor(
    private readonly chain: SimulatedChain,
    private readonly world: EpisodesWorld,
    private readonly nature: EndpointNature,
  ) {
    this.episodes = new Episodes(world, { ...nature.likelihoods });
    this.node = new SimulatedNode(chain, world, nature, this.episodes);
    this.ahead = world.random.pick(AHEAD) ?? 0;
  }

  reorganised(before: Branch): void {
    this.node.reorganised(before);
  }

  /** Ends all faults but those that the endpoint keeps. */
  calmDown(): void {
    this.episodes.settle(this.nature.lasting);
    this.node.settle();
    if (this.nature.lasting.length > 0) this.world.faults.count('an endpoint stays at fault');
  }

  /** Answers a request, or never does. */
  async answer(body: string): Promise<Response> {
    const { episodes, nature, world } = this;
    const { random, time } = world;
    if (episodes.has('silent')) {
      episodes.count('silent');
      return new Promise<never>(() => undefined);
    }
    await time.pause(Math.ceil(nature.latencyMs * (0.5 + random.next())));
    if (episodes.has('failing')) {
      episodes.count('failing');
      return new Response('<html>something went wrong</html>', { status: random.pick(FAILURES) ?? 500 });
    }
    if (episodes.has('limited')) return this.refuse();
    const calls = JSON.parse(body) as Call | Call[];
    const all = Array.isArray(calls) ? calls : [calls];
    this.isMisrouted = all.every(isOfHead) && all.some(({ params }) => params.length > 0) && episodes.has('misrouted');
    if (this.isMisrouted) episodes.count('misrouted');
    this.node.look();
    const text = Array.isArray(calls) ? this.answerBatch(calls) : JSON.stringify(this.answerCall(calls));
    if (!episodes.has('broken')) return new Response(text, { headers: JSON_HEADERS });
    episodes.count('broken');
    return new Response(text.slice(0, random.between(0, text.length - 1)), { headers: JSON_HEADERS });
  }

  private refuse(): Response {
    const { random, time, faults } = this.world;
    this.episodes.count('limited');
    const message = random.pick(TOO_FAST) ?? '';
    const error = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_005, message } });
    if (random.chance(0.3)) return new Response(error, { headers: JSON_HEADERS });
    if (random.chance(0.3)) return new Response(error, { status: 429, headers: JSON_HEADERS });
    faults.count('an endpoint names a time to wait');
    const seconds = random.between(1, 4);
    const date = new Date(time.real() + seconds * 1_000);
    const retryAfter = random.chance(0.5) ? String(seconds) : date.toUTCString();
    const headers = { ...JSON_HEADERS, 'retry-after': retryAfter, date: new Date(time.real()).toUTCString() };
    return new Response(error, { status: 429, headers });
  }

  private answerBatch(calls: readonly Call[]): string {
    const { random, faults } = this.world;
    if (calls.length <= this.nature.batchMost) return JSON.stringify(calls.map((call) => this.answerCall(call)));
    faults.count('an endpoint refuses a batch');
    const error = { code: -32_600, message: random.pick(NO_BATCHES) };
    return JSON.stringify({ jsonrpc: '2.0', id: null, error });
  }

  private answerCall({ id, method, params }: Call): object {
    try {
      return { jsonrpc: '2.0', id, result: this.resultOf(method, params) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return { jsonrpc: '2.0', id, error: { code: -32_000, ...error.more, message: error.message } };
    }
  }

  private resultOf(method: string, params: readonly unknown[]): unknown {
    const { answers } = this.nature;
    const ask = (call: OddCall) => this.node.answer(call.method, call.params);
    if (!this.isMisrouted) return answers ? answers({ method, params }, ask) : ask({ method, params });
    const { number, timestamp } = this.chain.tip;
    return answerOfOtherChain(method, params[0], { head: number + this.ahead, timestamp });
  }
}
