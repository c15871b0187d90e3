import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { OtpEvent } from '../../../schemas/events/account/otp-events.ts';
import type { ProfileChanges } from '../../../schemas/events/account/user-events.ts';
import type { RequestedPassword } from '../../../schemas/http/account/one-time-password-routes.ts';
import type { LoginMethod } from '../../../schemas/values.ts';
import type { UserCaller } from '../../../shared/auth/caller.ts';
import type { RateLimitStatus } from '../../../shared/edge/limits/rate-limits.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Transacted, Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { writeAddress, type WrittenAddress } from './domain/email-address.ts';
import {
  deliveryOf,
  guessOneTimePassword,
  issuedAt,
  issueOneTimePassword,
  newestAt,
  oneTimePasswordFold,
  oneTimePasswordsKept,
  oneTimePasswordStream,
  refuseToIssue,
  requestsLeft,
  verifyOneTimePassword,
  withoutMessage,
  wrongPassword,
  type OneTimePassword,
  type OneTimePasswords,
  type RequestLimit,
} from './domain/one-time-password.ts';
import type { IdentityIds } from './identity-ids.ts';
import type { LoggedIn, Logins } from './logins.ts';
import { newOneTimePassword, type PasswordHashes } from './password-hashes.ts';
import { redeem, type Wish } from './redemption.ts';
import { refuseAtIntervals } from './refuse-at-intervals.ts';

/** Longer than a guess takes that is stored and evaluated. */
const REFUSED_EVERY_MS = 250;

/** Whom a password is for, at which app. */
interface Addressee {
  method: Extract<LoginMethod, 'email' | 'messenger'>;
  /** As it was given; ids of a messenger have no capitals: they are taken as they are. */
  address: WrittenAddress;
  appId: string;
}

interface Guess {
  password: string;
  /** That the request was answered with. */
  token: string | undefined;
}

interface PasswordToSend {
  password: string;
  /** The address as first given. */
  to: string;
  /** Whether the message is sent, and whether the answer may wait for it. */
  delivery: 'awaited' | 'unawaited' | 'none';
  /** For a message that no server took: the request does not count. */
  notSent: () => Promise<void>;
  answer: RequestedPassword;
  position: Position;
}

/** The limits on requests; none where limits are off. */
export interface RequestLimits {
  /** At an app. */
  app: readonly RequestLimit[];
  /** At all apps. */
  all: RequestLimit | undefined;
}

/** What email and messenger share: passwords are issued, guessed and redeemed here, and sent elsewhere. */
export class OneTimePasswordLogins {
  constructor(
    private readonly transactor: Transactor,
    private readonly logins: Logins,
    private readonly identityIds: IdentityIds,
    private readonly hashes: PasswordHashes,
    private readonly limits: RequestLimits,
  ) {}

  /**
   * Issues a password. It does the same, and takes the same time, whether or not somebody has this identity.
   * @throws Refusal otp_locked, rate_limited
   */
  async issue(
    { method, address, appId }: Addressee,
    metadata: EventMetadata,
    showRateLimit: (status: RateLimitStatus | undefined) => void,
  ): Promise<PasswordToSend> {
    const { ids, clock } = this.transactor;
    const { app: limits, all } = this.limits;
    const stream = oneTimePasswordStream(this.identityIds.keyedIdentity(method, address.text));
    const show = (state: OneTimePasswords) => {
      const status = this.status(issuedAt(state, appId), clock.now());
      showRateLimit(status);
      return status;
    };
    const { state: earlier } = await this.transactor.load(stream, oneTimePasswordFold);
    show(earlier);
    // Before the work of a hash is done.
    refuseToIssue(earlier, clock.now(), { appId, limits });
    const [otpId, password] = [ids.token(26), newOneTimePassword()];
    const passwordHash = await this.hashes.hash(otpId, password);
    const { before, state, position } = await this.transact(stream, metadata, (current, nowMs) => {
      show(current);
      const request = { otpId, appId, passwordHash, capitals: address.capitals };
      return issueOneTimePassword(current, nowMs, { ...request, limits, all });
    });
    const issued = newestAt(state, appId);
    if (!issued) throw new Error('the one-time password that was issued is missing');
    return {
      password,
      to: writeAddress({ ...address, capitals: issued.capitals }),
      delivery: issued.isSent === false ? 'none' : deliveryOf(before, clock.now(), { appId, limit: all }),
      notSent: async () => {
        await this.transact(stream, metadata, (current) => withoutMessage(current, otpId));
      },
      answer: {
        sent: true,
        expiresAt: issued.expiresAt,
        resendAfter: show(state)?.resetSeconds ?? 0,
        token: this.hashes.tokenOf(otpId),
      },
      position,
    };
  }

  /**
   * Logs in with a password, or links the identity to the user of a bearer token. The guess is counted by an append before
   * it is evaluated, so that of parallel guesses no more are evaluated than one after the other. A refusal takes the same time
   * whether or not somebody has this identity.
   * @throws Refusal otp_invalid, otp_locked, and those of `Logins`
   */
  async logIn(
    { method, address, appId }: Addressee,
    guess: Guess & { device: string | undefined; user: UserCaller | undefined; profile?: ProfileChanges },
    metadata: EventMetadata,
  ): Promise<LoggedIn> {
    const { device, user, profile } = guess;
    const identityId = this.identityIds.keyedIdentity(method, address.text);
    const stream = oneTimePasswordStream(identityId);
    const unlabelled = { identityId, method, label: address.text };
    const wish = await this.logins.wish(user, [unlabelled]);
    const guessed = await refuseAtIntervals(REFUSED_EVERY_MS, () => this.guess(stream, appId, guess, metadata));
    const { redemption } = await this.redeem(stream, guessed.otpId, wish, metadata);
    const identity = { ...unlabelled, label: writeAddress({ ...address, capitals: guessed.capitals }) };
    const login = { identity, redemption, appId, device, ...(profile && { profile }) };
    return this.logins.complete(login, metadata);
  }

  /** Returns the password that was guessed. */
  private async guess(
    stream: string,
    appId: string,
    { password, token }: Guess,
    metadata: EventMetadata,
  ): Promise<OneTimePassword> {
    const hasToken = (otpId: string) => token !== undefined && this.hashes.isTokenOf(otpId, token);
    const { state } = await this.transact(stream, metadata, (current, nowMs) =>
      guessOneTimePassword(current, nowMs, { appId, hasToken }),
    );
    const guessed = newestAt(state, appId);
    if (!guessed) throw new Error('the one-time password that was guessed is missing');
    if (!(await this.hashes.verify(guessed.otpId, password, guessed.passwordHash))) throw wrongPassword();
    return guessed;
  }

  private redeem(stream: string, otpId: string, wish: Wish, metadata: EventMetadata) {
    return redeem(
      this.transactor,
      {
        ...passwordsOf(stream, metadata),
        use: (state, _nowMs, session) => verifyOneTimePassword(state, { otpId, ...session }),
        recorded: ({ passwords }) => passwords.find((one) => one.otpId === otpId)?.redemption,
        used: wrongPassword,
      },
      wish,
    );
  }

  private transact(
    stream: string,
    metadata: EventMetadata,
    decide: (state: OneTimePasswords, nowMs: number) => OtpEvent[],
  ): Promise<Transacted<OneTimePasswords>> {
    return this.transactor.transact({ ...passwordsOf(stream, metadata), decide });
  }

  /** Of the limit at an app that another request has to wait for longest. */
  private status(times: readonly number[], nowMs: number): RateLimitStatus | undefined {
    return this.limits.app
      .map((limit) => ({ limit, ...requestsLeft(times, nowMs, limit) }))
      .toSorted((one, other) => other.waitMs - one.waitMs)
      .map(({ limit: { name, points, seconds }, left, waitMs }) => ({
        name,
        points,
        windowSeconds: seconds,
        remaining: left,
        resetSeconds: Math.ceil(waitMs / 1_000),
        exceeded: left === 0,
      }))[0];
  }
}

const passwordsOf = (stream: string, metadata: EventMetadata) => ({
  stream,
  fold: oneTimePasswordFold,
  metadata,
  keep: oneTimePasswordsKept,
});
