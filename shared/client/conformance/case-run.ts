import { pause } from '../../primitives/waiting/pause.ts';
import type { CheckedChain } from './checked-chain.ethers.ts';
import { resolveReferences, type Json } from './json-value.ts';
import type { Reader } from './readers/reader.ts';
import type { Connection } from './readers/connection.socketio.ts';

const POLL_MS = 20;
/** Seconds that a step waits for what it expects, unless a run gives it more. */
export const USUAL_WITHIN_S = 30;

/** A node, and what is needed to cause events that it must deliver. */
export interface CheckedNode {
  streamUrl: string;
  eventUrl: string;
  /** Returns an access token or connection token that is valid for some minutes. */
  token: () => Promise<string>;
  chain: CheckedChain;
  /** How long a step waits for what it expects. */
  withinMs: number;
}

export interface CheckedContract {
  address: string;
  startBlock: number;
  watchId: string;
}

/** The node did not do what a step expects of it. */
export class Unmet extends Error {
  override readonly name = 'Unmet';

  constructor(
    readonly expected: unknown,
    readonly came: unknown,
  ) {
    super('the node did not do what was expected');
  }
}

/** One run of a case: what its steps have opened and remembered. */
export class CaseRun {
  private readonly values = new Map<string, () => Json>();
  private readonly readers = new Map<string, Reader>();
  private readonly connections = new Map<string, Connection>();
  private readonly atEnd: (() => Promise<void> | void)[] = [];
  private registered: CheckedContract | undefined;
  /** What the steps of this run keep between them. */
  snapshot: string | undefined;
  newestBlock = 0;

  constructor(
    readonly node: CheckedNode,
    readonly signal: AbortSignal,
  ) {}

  get hasContract(): boolean {
    return this.registered !== undefined;
  }

  get contract(): CheckedContract {
    if (!this.registered) throw new Error('this case has no contract');
    return this.registered;
  }

  set contract(contract: CheckedContract) {
    this.registered = contract;
    this.remember('contract', { ...contract });
  }

  /** Lets later steps refer to a value by `$name`; a function is asked each time. */
  remember(name: string, value: Json | (() => Json)): void {
    this.values.set(name, typeof value === 'function' ? value : () => value);
  }

  addReader(name: string, reader: Reader): void {
    this.readers.set(name, reader);
    this.remember(name, () => reader.state());
    this.finally(() => {
      reader.close();
    });
  }

  addConnection(name: string, connection: Connection): void {
    this.connections.set(name, connection);
    this.finally(() => {
      connection.close();
    });
  }

  reader(name: string): Reader {
    const reader = this.readers.get(name);
    if (!reader) throw new Error(`no step has opened ${name}`);
    return reader;
  }

  connection(name: string): Connection {
    const connection = this.connections.get(name);
    if (!connection) throw new Error(`no step has connected ${name}`);
    return connection;
  }

  resolve(value: Json): Json {
    return resolveReferences(value, (name) => this.values.get(name)?.());
  }

  finally(work: () => Promise<void> | void): void {
    this.atEnd.push(work);
  }

  /** Closes and unregisters what the steps opened and registered, the newest first. */
  async end(): Promise<void> {
    const errors: unknown[] = [];
    for (const work of this.atEnd.toReversed())
      try {
        await work();
      } catch (error) {
        errors.push(error);
      }
    if (errors.length > 0) throw errors[0];
  }

  /**
   * Asks again until the answer is as expected.
   * @param isMet `'never'` when it cannot be met any more
   * @throws Unmet after the time of a step, with the last answer
   */
  async until<Answer>(
    expected: unknown,
    ask: () => Answer | Promise<Answer>,
    isMet: (answer: Answer) => boolean | 'never',
    withinMs = this.node.withinMs,
  ): Promise<Answer> {
    const until = performance.now() + withinMs;
    for (;;) {
      const isLast = performance.now() >= until;
      const answer = await ask();
      const met = isMet(answer);
      if (met === true) return answer;
      this.signal.throwIfAborted();
      if (met === 'never' || isLast) throw new Unmet(expected, answer);
      await pause(POLL_MS, this.signal);
    }
  }
}
