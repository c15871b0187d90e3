import { ChainUnavailable, RangeTooLarge, StateUnavailable } from './chain-reader.ts';
import { InvalidAnswer } from './checked-answers.ts';
import { blocksOf, type BlockRange } from './suggested-range.ts';
import { JsonRpcEndpoint, NoAnswer } from './json-rpc-endpoint.ts';

const ANSWERS_WITHIN_MS = 15_000;
/** How long an endpoint that failed or returned invalid data is tried last. */
const QUARANTINE_MS = 30_000;

export interface EndpointLimits {
  quarantineMs?: number;
  withinMs?: number;
}

interface EndpointState {
  endpoint: JsonRpcEndpoint;
  /** How messages name it: anyone may read them, and hosts may be secret. */
  name: string;
  /** Whether it has answered with the right chain id since it last failed. */
  isOfChain: boolean;
  quarantinedUntilMs: number;
}

/** The JSON-RPC endpoints of a chain: asks the first, and the others when it fails or returns provably false data. */
export class JsonRpcEndpoints {
  private readonly endpoints: EndpointState[];
  private readonly closing = new AbortController();
  private readonly quarantineMs: number;

  constructor(
    readonly chainId: number,
    urls: readonly string[],
    { quarantineMs = QUARANTINE_MS, withinMs = ANSWERS_WITHIN_MS }: EndpointLimits = {},
  ) {
    this.quarantineMs = quarantineMs;
    this.endpoints = urls.map((url, index) => ({
      endpoint: new JsonRpcEndpoint(url, withinMs, this.closing.signal),
      name: `provider ${String(index + 1)}`,
      isOfChain: false,
      quarantinedUntilMs: 0,
    }));
  }

  /** Also ends the calls in progress. */
  close(): void {
    this.closing.abort();
  }

  /** @throws ChainUnavailable, RangeTooLarge, StateUnavailable */
  async ask<Validated>(
    what: string,
    read: (endpoint: JsonRpcEndpoint) => Promise<Validated>,
    { range }: { range?: BlockRange } = {},
  ): Promise<Validated> {
    const subject = `${what} of chain ${String(this.chainId)}`;
    const failures: string[] = [];
    let tooLarge: RangeTooLarge | undefined;
    let withoutState = 0;
    const now = performance.now();
    for (const state of this.endpoints.toSorted((left, right) => distrust(left, now) - distrust(right, now))) {
      try {
        if (range) requireWithin(state.endpoint, range);
        await this.requireChain(state);
        const validated = await read(state.endpoint);
        state.quarantinedUntilMs = 0;
        return validated;
      } catch (error) {
        if (this.closing.signal.aborted) throw new ChainUnavailable(`${subject}: the reader is closed`);
        if (error instanceof RangeTooLarge) tooLarge = largerOf(error, tooLarge);
        else if (error instanceof StateUnavailable) withoutState += 1;
        else if (isFault(error)) {
          state.quarantinedUntilMs = performance.now() + this.quarantineMs;
          state.isOfChain = false;
        } else throw error;
        failures.push(`${state.name}: ${state.endpoint.address.redact(error.message)}`);
      }
    }
    const message = `${subject}: ${failures.join('; ')}`;
    if (tooLarge) throw new RangeTooLarge(message, tooLarge.suggested);
    throw withoutState === this.endpoints.length ? new StateUnavailable(message) : new ChainUnavailable(message);
  }

  private async requireChain(state: EndpointState): Promise<void> {
    if (state.isOfChain) return;
    const [answer] = await state.endpoint.call([{ method: 'eth_chainId', params: [] }]);
    if (Number(answer) !== this.chainId) throw new InvalidAnswer(`the endpoint serves chain ${String(answer)}`);
    state.isOfChain = true;
  }
}

const distrust = ({ quarantinedUntilMs }: EndpointState, now: number): number =>
  quarantinedUntilMs > now ? quarantinedUntilMs : 0;

/** An endpoint is not asked for more blocks than it takes. */
const requireWithin = ({ rangeLimit }: JsonRpcEndpoint, range: BlockRange): void => {
  const { value } = rangeLimit;
  if (blocksOf(range) <= value) return;
  throw new RangeTooLarge(`it takes ${String(value)} blocks at a time`, { blocks: value });
};

/** The refusal of the endpoint that takes more. */
const largerOf = (one: RangeTooLarge, other = one): RangeTooLarge =>
  (other.suggested?.blocks ?? 0) > (one.suggested?.blocks ?? 0) ? other : one;

const isFault = (error: unknown): error is InvalidAnswer | NoAnswer =>
  error instanceof InvalidAnswer || error instanceof NoAnswer;
