import { isDeepStrictEqual } from 'node:util';
import { BundlerWasReplaced } from '../../../onchain/bundler/domain/executor.ts';
import { NumberedAwaits } from './numbered-awaits.ts';
import type { KeyedSend, SendingProcess, SignedSend } from './sending-process.ts';
import { SurvivingState } from './surviving-state.ts';

/** The steps of a plan: a user sends, a part of the process does its work, or a block comes. */
export type Action = Send | 'bundle' | 'project' | 'relay' | 'block';
/** `signed`: over `/rpc`, by a user whose account's key this service does not have. */
type Send = { user: number; sponsor: boolean } | 'signed';

/** An interruption of the first process at one of its awaits. */
export interface Interruption {
  /** The number of the await. */
  at: number;
  /** `killed`, or stopped for a while, during which another process takes over, and then resumed. */
  how: 'killed' | 'overtaken';
  /** Whether a block comes before the next step. */
  withBlock: boolean;
}

/** Longer than a process waits for another that carries out the same request, or holds a lease. */
const TAKEN_OVER_AFTER_MS = 11_000;
const ROUND: readonly Action[] = ['bundle', 'project', 'relay', 'block'];
/** More than anything needs to become final. */
const ROUNDS_MAX = 40;

class Killed extends Error {
  override readonly name = 'Killed';
}

/** Carries out a plan with one process, and with another one after an interruption. */
export class InterruptedSends {
  private process: SendingProcess;
  private readonly awaits: NumberedAwaits;
  private isKilled = false;
  /** Resolves when the stopped process is resumed. */
  private stopped: Promise<unknown> | undefined;
  private successor: SendingProcess | undefined;
  private sending: KeyedSend | SignedSend | undefined;
  private readonly sends: (KeyedSend | SignedSend)[] = [];
  private readonly faults: string[] = [];

  private constructor(
    private readonly state: SurvivingState,
    private readonly interruption: Interruption | undefined,
  ) {
    this.awaits = new NumberedAwaits((number) => this.arrive(number));
    const { ports } = state;
    const numbered = Object.entries(ports).map(([name, port]) => [name, this.awaits.of(name, port as object)]);
    this.process = state.begin(Object.fromEntries(numbered) as typeof ports);
  }

  /**
   * Carries out a plan to its end.
   * @returns the awaits of the first process, as far as it came, and the violations, as sentences
   */
  static async run(
    plan: readonly Action[],
    interruption?: Interruption,
  ): Promise<{ awaits: readonly string[]; faults: readonly string[] }> {
    const users = new Set(plan.flatMap((action) => (typeof action === 'string' ? [] : [action.user])));
    const run = new InterruptedSends(await SurvivingState.prepare(users.size), interruption);
    for (const action of plan) await run.act(action);
    await run.end();
    return { awaits: run.awaits.names, faults: run.faults };
  }

  private async act(action: Action): Promise<void> {
    if (action === 'block') this.state.mine();
    else if (action !== 'signed' && typeof action === 'string') await this.work((process) => process[action]());
    else {
      const key = `key-${String(this.sends.length)}`;
      this.sending = action === 'signed' ? this.state.signedSendOf(key) : this.state.sendOf(key, action);
      this.sends.push(this.sending);
      await this.work((process) => this.ask(process));
      this.sending = undefined;
    }
  }

  /** Runs a part of the plan with the current process, and again with the next one if that is killed. */
  private async work(part: (process: SendingProcess) => Promise<void>): Promise<void> {
    const { process } = this;
    try {
      await part(process);
    } catch (error) {
      if (error instanceof Killed) {
        this.pass();
        this.process = this.state.begin();
        // The successor bundles as soon as it runs, whether or not read models are up to date or clients have retried.
        await this.process.bundle();
        await this.work(part);
        return;
      }
      if (!(error instanceof BundlerWasReplaced)) throw error;
      if (!this.successor) {
        // The overtaken process was the last to start bundling.
        this.process = this.state.begin();
        await this.work(part);
        return;
      }
    }
    if (this.successor) await this.goOn(process, this.successor);
  }

  /** The overtaken process does one more step before it notices. */
  private async goOn(overtaken: SendingProcess, successor: SendingProcess): Promise<void> {
    this.process = successor;
    this.successor = undefined;
    for (const part of ['project', 'relay', 'bundle'] as const) {
      await overtaken[part]().catch((error: unknown) => {
        if (!(error instanceof BundlerWasReplaced)) throw error;
      });
    }
  }

  /** Repeats the current send, and compares the answer with the first one. */
  private async ask(process: SendingProcess, send = this.sending): Promise<void> {
    if (!send) return;
    const answer = await process.answer(send);
    const { answers } = this.state;
    if (!answers.has(send.key)) answers.set(send.key, answer);
    else if (!isDeepStrictEqual(answer, answers.get(send.key))) this.faults.push(`${send.key} is answered otherwise`);
  }

  private async arrive(number: number): Promise<void> {
    if (this.isKilled) throw new Killed();
    await this.stopped;
    const { interruption } = this;
    if (number !== interruption?.at) return;
    if (interruption.how === 'killed') {
      this.isKilled = true;
      throw new Killed();
    }
    this.stopped = this.overtake();
    await this.stopped;
  }

  private async overtake(): Promise<void> {
    const successor = this.state.begin();
    this.pass();
    await successor.bundle();
    await this.ask(successor);
    await successor.project();
    await successor.bundle();
    await successor.relay();
    this.successor = successor;
  }

  private pass(): void {
    this.state.clock.time += TAKEN_OVER_AFTER_MS;
    if (this.interruption?.withBlock) this.state.mine();
  }

  private async end(): Promise<void> {
    let left: string[] = [];
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      left = await this.state.faults();
      if (left.length === 0) break;
      for (const action of ROUND) await this.act(action);
    }
    await this.work(async (process) => {
      for (const send of this.sends) await this.ask(process, send);
    });
    this.faults.push(...left);
  }
}
