import { setTimeout as pause } from 'node:timers/promises';
import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { call, signIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import type { ChainUnderTest } from '../end-to-end/chain-under-test.ethers.ts';
import { ANSWERS_WITHIN_MS, retryUntilAnswered } from './retry-until-answered.ts';

const TRANSFERS_PER_BLOCK = 4;
/** Faster than any chain, and slow enough that the events of a minute are compared in seconds. */
const BLOCK_EVERY_MS = 100;
/** So that the services are always at work, and leave a core to what runs beside this. */
const LOGIN_EVERY_MS = 50;
const BLOCKS_PER_REORGANISATION = 7;

interface Acknowledged {
  userId: string;
  username: string;
}

/** Users who sign in and change their profile, and a chain with new blocks and reorganisations, until it is stopped. */
export class Workload {
  /** The commands that were answered with success, and so must not be lost. */
  readonly acknowledged: Acknowledged[] = [];
  private blocks = 0;
  private readonly stopping = new AbortController();
  private readonly working: Promise<unknown>;

  constructor(
    private readonly development: DevelopmentFile,
    private readonly chain: ChainUnderTest,
  ) {
    this.working = Promise.all([this.keepSigningIn(), this.keepMining()]);
  }

  /** How many commands and blocks are done. */
  get done(): number {
    return this.acknowledged.length + this.blocks;
  }

  /** Returns when so many more commands and blocks are done. */
  async goesOn(count: number): Promise<void> {
    const until = this.done + count;
    const going = eventually(
      () => this.done >= until,
      ANSWERS_WITHIN_MS,
      `${String(count)} more commands and blocks must be done`,
    );
    await Promise.race([going, this.working]);
  }

  /** Returns after this time, in which commands and blocks must be done. */
  async lasts(ms: number): Promise<void> {
    const until = performance.now() + ms;
    while (performance.now() < until) await this.goesOn(1);
  }

  /** Returns when the commands and blocks in progress are done. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.working;
  }

  /** @returns acknowledged commands that the event store does not have exactly once */
  lost(events: readonly StoredEvent[]): Acknowledged[] {
    const stored = Map.groupBy(
      events.filter(({ type }) => type === 'ProfileUpdated'),
      ({ stream, data }) => `${stream} ${String((data['changes'] as { username?: string }).username)}`,
    );
    return this.acknowledged.filter(({ userId, username }) => stored.get(`user-${userId} ${username}`)?.length !== 1);
  }

  private async keepSigningIn(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const wallet = randomWallet();
      const { userId, bearer } = await retryUntilAnswered(() => signIn(this.development, wallet));
      const username = wallet.address.slice(2, 12);
      const url = `${this.development.accountUrl}/user/${userId}/profile`;
      await retryUntilAnswered(async () => {
        const { status } = await call(url, { method: 'POST', body: { username }, headers: bearer });
        if (status !== 200) throw new Error(`the profile answered ${String(status)}`);
      });
      this.acknowledged.push({ userId, username });
      await pause(LOGIN_EVERY_MS);
    }
  }

  private async keepMining(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const revert = this.blocks % BLOCKS_PER_REORGANISATION === 0 ? await this.chain.snapshot() : undefined;
      await this.chain.mine(1, TRANSFERS_PER_BLOCK);
      if (revert) {
        await this.chain.mine(1, TRANSFERS_PER_BLOCK);
        await revert();
        await this.chain.mine(3, 1);
      }
      this.blocks += 1;
      await pause(BLOCK_EVERY_MS);
    }
  }
}
