import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { rateLimits } from '../../../schemas/http/rate-limits.ts';
import type { DomainEvent } from '../../../shared/event-store/transactions/folded-streams.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import {
  appHeaders,
  call,
  signIn,
  type Answered,
  type SignedIn,
} from '../../../shared/testing/http/http-caller.ethers.ts';
import { isFullSize, sized } from '../../../shared/testing/sized.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { flood, requestText } from './attackers.ts';
import { describeAttack, expectOthersServed, ProgramUnderAttack } from './program-under-attack.ts';

const folder = temporaryFolder();
const { storedBytes } = rateLimits;
const size = sized({
  small: { history: 3_000, aloneMs: 1_000, forMs: 5_000, waitS: 2, quotaBytes: 500_000 },
  full: { history: 7_000, aloneMs: 30_000, forMs: 60_000, waitS: 30, quotaBytes: storedBytes.points },
});
const LONG_AVATAR = 2_000;
/** An answer that is kept for its key is counted after it was made, so the last one may exceed the quota. */
const LAST_ANSWER_BYTES = 2 * 4 * LONG_AVATAR;
const TARGET = '0x00000000000000000000000000000000000B0d1E';

/**
 * `request` allows a user 100 of these three per second. At 50 changes per second the quota lasts for most of a minute.
 */
const CHANGES = { connections: 10, everyMs: 200 };
const AS_OF = { connections: 10, everyMs: 400 };
const EXPORTS = { connections: 10, everyMs: 400 };
/** `otpRequestIp` allows an address 30 per hour, `login` 60 guesses in 5 minutes, and a password 5. */
const PASSWORDS = { connections: 1, everyMs: 200 };
const GUESSES = { connections: 4, everyMs: 1_000 };
const GUESSED_PASSWORDS = 12;
/** Together with the others, nearly the 256 concurrent requests that `requestsPerAddress` allows an address. */
const WAITS = { connections: 215, everyMs: 100 };

/** This many characters of four bytes, and some more. */
const avatar = (change: number, characters: number): string =>
  `https://shop.example/${String(change)}/${'\u{1F600}'.repeat(characters)}`;

const longHistory = (userId: string): DomainEvent[] =>
  Array.from({ length: size.history }, (_, change) => ({
    type: 'ProfileUpdated',
    data: { userId, changes: { avatar: avatar(change, 100) } },
  }));

describeAttack('a user at the limits of what is allowed', () => {
  let attacked: ProgramUnderAttack;
  let user: SignedIn;
  /** Hash of an operation that no block includes, so that requests for it can wait. */
  let userOpHash: string;
  beforeAll(async () => {
    const RATE_LIMITS = JSON.stringify({ storedBytes: { points: size.quotaBytes, seconds: storedBytes.seconds } });
    attacked = await ProgramUnderAttack.start(folder, { RATE_LIMITS });
    const { accountUrl, chainId, rpcUrl } = attacked.development;
    user = await signIn(attacked.development);
    await attacked.append(`user-${user.userId}`, longHistory(user.userId));
    const page = `${accountUrl}/user/${user.userId}/history?type=ProfileUpdated&take=1000`;
    const isLong = async () => {
      const { body } = await call(page, { headers: user.bearer });
      return (body['items'] as unknown[] | undefined)?.length === 1_000;
    };
    await eventually(isLong, 60_000, 'the history must be projected');
    const stopsMining = { jsonrpc: '2.0', id: 1, method: 'evm_setAutomine', params: [false] };
    await call(rpcUrl, { method: 'POST', body: stopsMining });
    const transaction = { chainId, sponsor: true, transactionReq: { to: TARGET } };
    const sent = await call(`${accountUrl}/onchain/send`, { method: 'POST', headers: user.bearer, body: transaction });
    userOpHash = sent.body['userOpHash'] as string;
  });
  afterAll(() => attacked[Symbol.asyncDispose]());

  /** The user's requests, as frequent as is allowed. */
  const kinds = () => {
    const { chainId } = attacked.development;
    const own = `/user/${user.userId}`;
    const asApp = appHeaders(attacked.development);
    const asked = { change: 0, password: 0, guess: 0 };
    const email = (password: number) => `guessed-${String(password)}@shop.example`;
    const change = () => {
      const body = JSON.stringify({ avatar: avatar((asked.change += 1), 500) });
      return requestText('POST', `${own}/profile`, { ...user.bearer, 'idempotency-key': randomUUID() }, body);
    };
    const requestPassword = () =>
      requestText('POST', '/auth/email-otp-request', asApp, JSON.stringify({ email: email((asked.password += 1)) }));
    const guess = () => {
      const guessed = { email: email(1 + ((asked.guess += 1) % GUESSED_PASSWORDS)), otp: '000000' };
      return requestText('POST', '/auth/email-otp-verify', asApp, JSON.stringify(guessed));
    };
    const asOf = () => requestText('GET', `${own}?asOf=${new Date(Date.now() - 1_000).toISOString()}`, user.bearer);
    const receipt = `/onchain/user-op-receipt/${String(chainId)}/${userOpHash}?wait=${String(size.waitS)}`;
    return {
      changes: { ...CHANGES, text: change },
      asOf: { ...AS_OF, text: asOf },
      exports: { ...EXPORTS, text: requestText('GET', `${own}/history/export`, user.bearer) },
      passwords: { ...PASSWORDS, text: requestPassword },
      guesses: { ...GUESSES, text: guess },
      waits: { ...WAITS, text: requestText('GET', receipt) },
    };
  };

  /** Changes the profile until a change is refused for the rest of the day, rather than for a second. */
  const useUpQuota = async (): Promise<Answered> => {
    let answer: Answered;
    let change = 0;
    do {
      answer = await call(`${attacked.development.accountUrl}/user/${user.userId}/profile`, {
        method: 'POST',
        headers: { ...user.bearer, 'idempotency-key': randomUUID() },
        body: { avatar: avatar((change += 1), LONG_AVATAR) },
      });
    } while (answer.status !== 429 || answer.body['retryAfter'] === 1);
    return answer;
  };

  it('holds up nobody else, and stores no more than is allowed', async () => {
    await attacked.during(() => pause(size.aloneMs));
    const { accountUrl } = attacked.development;
    const answers: Record<string, Record<string, number>> = {};
    const cost = await attacked.during(() =>
      Promise.all(
        Object.entries(kinds()).map(async ([kind, asked]) => {
          answers[kind] = await flood(accountUrl, { ...asked, forMs: size.forMs });
        }),
      ),
    );
    if (isFullSize) console.info(answers);
    let refused: Answered | undefined;
    const more = await attacked.during(async () => {
      refused = await useUpQuota();
    });
    // In a short run on a busy machine, the user's own exports may delay the other requests beyond their deadline.
    if (isFullSize) {
      expect(answers).toMatchObject({
        ...{ changes: { 200: some }, asOf: { 200: some }, exports: { 200: some } },
        ...{ passwords: { 201: some }, guesses: { 401: some }, waits: { 200: some } },
      });
    }
    expect(refused?.body['detail']).toContain('may store is used up');
    const stored = [cost, more].reduce((sum, { storedBytes: by }) => sum + (by[user.userId] ?? 0), 0);
    expect(stored).toBeGreaterThan(size.quotaBytes / 2);
    expect(stored).toBeLessThanOrEqual(size.quotaBytes + LAST_ANSWER_BYTES);
    expectOthersServed(cost);
  });
});

const some = expect.any(Number);
