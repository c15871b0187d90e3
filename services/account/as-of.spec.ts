import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import type { Session } from '../../schemas/http/account/session.ts';
import { sessionList, type ListedSession } from '../../schemas/http/account/session-routes.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import { toIso } from '../../shared/primitives/clock.ts';
import { sessionsModel } from '../../shared/read-models/account/sessions.ts';
import { usersModel } from '../../shared/read-models/account/users.ts';
import { transactionsModel } from '../../shared/read-models/onchain/transactions.ts';
import { MemoryChain } from '../../shared/testing/chain/chain-reader.memory.ts';
import { JsonRpcNode } from '../../shared/testing/chain/json-rpc-node.ts';
import { anEvent } from '../../shared/testing/event-builder.ts';
import { projectStored } from '../../shared/testing/project.ts';
import { temporaryFolder } from '../../shared/testing/temporary-folder.ts';
import { bundleReceiptOf } from '../onchain/testing/bundle-receipts.ts';
import { chainsOf, startAccountUnderTest, type AccountUnderTest } from './testing/account-under-test.ethers.ts';
import { bearer } from './testing/sessions.ts';
import { casesOf } from '../../shared/testing/cases.ts';

const folder = temporaryFolder();
const [MINUTE, DAY] = [60_000, 86_400_000];
const { userOpHash } = eventExamples.TxSubmitted;
const { transactionHash, logIndex } = eventExamples.TxIncluded;
const KNOWN_TRANSACTIONS = ['tx_0', 'tx_1', 'tx_2', 'tx_none'];

const step = fc.record({
  waitMs: fc.constantFrom(1, MINUTE, DAY, 6 * DAY, 16 * DAY),
  act: fc.constantFrom('begin', 'use', 'end', 'submit', 'include', 'reorganise', 'finalise', 'drop', 'rename'),
  which: fc.nat(2),
});
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** What queries answered when the newest event was at a position. */
interface Answers {
  sessions: Omit<ListedSession, 'current'>[];
  user: unknown;
  transactions: unknown;
  each: unknown[];
  /** The position that `x-as-of` named. */
  shown: string | null;
}

/** One person, to whom random things happen. */
class Life {
  private session: Session | undefined;
  private loggedInAt = 0;
  private readonly live = new Map<string, { begun: number; used: number }>();
  private count = 0;

  private readonly wallet;

  constructor(private readonly account: AccountUnderTest) {
    this.wallet = account.newWallet();
  }

  async token(): Promise<Session> {
    const { time } = this.account.clock;
    if (!this.session || time - this.loggedInAt > 5 * MINUTE) {
      this.session = await this.account.logIn(this.wallet);
      this.loggedInAt = time;
    }
    return this.session;
  }

  async ask(path: string): Promise<{ status: number; body: JsonObject; asOf: string | null }> {
    const answer = await this.account.ask(path, { headers: bearer(await this.token()) });
    const { instance: _instance, ...body } = (await answer.json()) as JsonObject;
    return { status: answer.status, body, asOf: answer.headers.get('x-as-of') };
  }

  async answers(asOf?: string): Promise<Answers> {
    const { userId } = await this.token();
    const query = asOf === undefined ? '' : `?asOf=${asOf}`;
    const sessions = await this.ask(`/auth/sessions${query}`);
    const transactions = await this.ask(`/onchain/transactions${query}`);
    const each = await Promise.all(KNOWN_TRANSACTIONS.map((id) => this.ask(`/onchain/transactions/${id}${query}`)));
    const user = await this.ask(`/user/${userId}${query}`);
    const all = [sessions, transactions, user, ...each];
    const [shown = null, ...others] = new Set(all.map((one) => one.asOf));
    expect(others).toEqual([]);
    return {
      sessions: sessionList.parse(sessions.body).items.map(({ current: _, ...one }: ListedSession) => one),
      user: [user.status, user.body],
      transactions: [transactions.status, transactions.body],
      // A block that left the chain since has no receipt.
      shown,
      each: each.map(({ status, body: { receipt: _, detail: _detail, ...body } }) => [status, body]),
    };
  }

  async happen({ act, which }: Step): Promise<void> {
    const { userId } = await this.token();
    const id = `tx_${String(which)}`;
    const submitted = await this.account.foundation.eventStore.read(`transaction-${id}`);
    const sent = { transactionId: id, userId, chainId: 2484, deployed: false };
    if (act === 'rename') {
      const body = { username: `name ${String((this.count += 1))}` };
      await this.account.ask(`/user/${userId}/profile`, { method: 'POST', headers: bearer(await this.token()), body });
    } else if (act === 'begin' || act === 'use' || act === 'end') await this.useSession(act, which, userId);
    else if (act === 'submit' || submitted.length === 0) {
      if (submitted.length === 0) await this.append(`transaction-${id}`, 'TxSubmitted', sent);
    } else {
      const types = {
        include: 'TxIncluded',
        reorganise: 'TxReorged',
        finalise: 'TxFinalized',
        drop: 'TxDropped',
      } as const;
      await this.append(`transaction-${id}`, types[act], sent);
    }
  }

  /** A session that has expired or ended is neither used nor ended, as the service refuses both. */
  private async useSession(act: 'begin' | 'use' | 'end', which: number, userId: string): Promise<void> {
    const { time } = this.account.clock;
    const usable = [...this.live].filter(([, { begun, used }]) => time - begun < 30 * DAY && time - used < 7 * DAY);
    const [sessionId, times] = usable[which % Math.max(1, usable.length)] ?? [];
    if (act === 'begin' || sessionId === undefined || !times) {
      const begun = `ses_${userId}_${String((this.count += 1))}`;
      this.live.set(begun, { begun: time, used: time });
      await this.append(`session-${begun}`, 'SessionStarted', {
        sessionId: begun,
        userId,
        device: `device of ${begun}`,
      });
    } else if (act === 'use') {
      this.live.set(sessionId, { ...times, used: time });
      await this.append(`session-${sessionId}`, 'SessionRefreshed', { sessionId });
    } else {
      this.live.delete(sessionId);
      await this.append(`session-${sessionId}`, 'SessionRevoked', { sessionId, userId });
    }
  }

  private async append(stream: string, type: keyof typeof eventExamples, data: JsonObject): Promise<void> {
    const { eventStore } = this.account.foundation;
    const event = anEvent({ type, data: { ...eventExamples[type], ...data }, time: this.account.clock.time });
    const revision = (await eventStore.read(stream)).length - 1;
    await eventStore.append(stream, revision, [await personalDataOf(this.account.foundation).seal(event)]);
  }
}

const project = (account: AccountUnderTest) =>
  projectStored(account.foundation, [sessionsModel, usersModel, transactionsModel]);

/** As of an earlier time nothing tells when a session was used last. */
const asShownLater = ({ sessions, ...others }: Answers): Answers => ({
  sessions: sorted(sessions.map((one) => ({ ...one, lastUsedAt: null }))),
  ...others,
});
const sorted = (sessions: Answers['sessions']): Answers['sessions'] =>
  sessions.toSorted((one, other) => (one.id < other.id ? -1 : 1));

describe('a query as of an earlier position', () => {
  let node: JsonRpcNode;
  beforeAll(async () => {
    node = await JsonRpcNode.start(new MemoryChain(2484));
    node.receipts.set(transactionHash, bundleReceiptOf(['before execution', { endOf: userOpHash }], logIndex - 1));
  });
  afterAll(() => node.stop());

  it('answers what the same query answered when the newest event was there', () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
        await using account = await startAccountUnderTest(folder, {
          CHAINS: chainsOf([2484, node.url]),
          BUNDLER: 'off',
        });
        const life = new Life(account);
        const seen: { position: number; time: string; answers: Answers }[] = [];
        for (const one of steps) {
          account.clock.time += one.waitMs;
          await life.happen(one);
          await project(account);
          const [position, time] = [await account.foundation.eventStore.head(), toIso(account.clock.time)];
          seen.push({ position, time, answers: await life.answers() });
        }
        account.clock.time += DAY;
        await life.token();
        await project(account);
        for (const { position, time, answers } of seen) {
          for (const asOf of [String(position), time]) {
            const then = await life.answers(asOf);
            expect({ ...then, sessions: sorted(then.sessions) }).toEqual({
              ...asShownLater(answers),
              shown: String(position),
            });
          }
        }
      }),
      { numRuns: casesOf(10) },
    ));
});
