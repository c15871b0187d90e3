import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { ProfileChanges } from '../../../schemas/events/user-events.ts';
import type { RequestedPassword } from '../../../schemas/http/one-time-password-routes.ts';
import type { LoginMethod } from '../../../schemas/values.ts';
import type { UserCaller } from '../../../shared/auth/caller.ts';
import type { RateLimitStatus } from '../../../shared/edge/rate-limits.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import { writeAddress, type WrittenAddress } from '../domain/email-address.ts';
import {
  guessOneTimePassword,
  isGuessedUp,
  issueOneTimePassword,
  oneTimePasswordFold,
  oneTimePasswordsKept,
  oneTimePasswordStream,
  openAt,
  refuseToIssue,
  requestsLeft,
  verifyOneTimePassword,
  wrongPassword,
  type OneTimePassword,
  type OneTimePasswords,
  type RequestLimit,
} from '../domain/one-time-password.ts';
import { sessionIdFrom } from '../domain/session.ts';
import type { IdentityIds } from './identity-ids.ts';
import type { LoggedIn, Logins, Redemption } from './logins.ts';
import { newOneTimePassword, type PasswordHashes } from './password-hashes.ts';
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

interface PasswordToSend {
  password: string;
  /** The address as first given. */
  to: string;
  answer: RequestedPassword;
  position: Position;
}

/** What email and messenger share: passwords are issued, guessed and redeemed here, and sent elsewhere. */
export class OneTimePasswordLogins {
  constructor(
    private readonly transactor: Transactor,
    private readonly logins: Logins,
    private readonly identityIds: IdentityIds,
    private readonly hashes: PasswordHashes,
    /** None where limits are off. */
    private readonly limits: readonly RequestLimit[],
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
    const stream = oneTimePasswordStream(this.identityIds.keyedIdentity(method, address.text));
    const { state: before } = await this.transactor.load(stream, oneTimePasswordFold);
    showRateLimit(this.status(before, clock.now()));
    // Before the work of a hash is done.
    refuseToIssue(before, clock.now(), this.limits);
    const [otpId, password] = [ids.token(26), newOneTimePassword()];
    const passwordHash = await this.hashes.hash(otpId, password);
    const { state, position } = await this.transactor.transact({
      stream,
      fold: oneTimePasswordFold,
      metadata,
      keep: oneTimePasswordsKept,
      decide: (current, nowMs) => {
        showRateLimit(this.status(current, nowMs));
        const { capitals } = address;
        return issueOneTimePassword(current, nowMs, { otpId, appId, passwordHash, capitals, limits: this.limits });
      },
    });
    const issued = openAt(state, appId);
    if (!issued) throw new Error('the one-time password that was issued is missing');
    const status = this.status(state, clock.now());
    showRateLimit(status);
    return {
      password,
      to: writeAddress({ ...address, capitals: issued.capitals }),
      answer: { sent: true, expiresAt: issued.expiresAt, resendAfter: status?.resetSeconds ?? 0 },
      position,
    };
  }

  /**
   * Logs in with a password, or links the identity to the user of a bearer token. The guess is counted by an append before
   * it is evaluated, so that of parallel guesses no more are evaluated than one after the other. A refusal takes the same time
   * whether or not the identity has a password.
   * @throws Refusal otp_invalid, otp_locked, and those of `Logins`
   */
  async logIn(
    { method, address, appId }: Addressee,
    guess: { password: string; device: string | undefined; user: UserCaller | undefined; profile?: ProfileChanges },
    metadata: EventMetadata,
  ): Promise<LoggedIn> {
    const { password, device, user, profile } = guess;
    const identityId = this.identityIds.keyedIdentity(method, address.text);
    const unlabelled = { identityId, method, label: address.text };
    const linkTo = await this.logins.linkTarget(user, [unlabelled]);
    const guessed = await refuseAtIntervals(REFUSED_EVERY_MS, () =>
      this.guess(identityId, { appId, password }, metadata),
    );
    const redemption = await this.redeem(identityId, { otpId: guessed.otpId, linkTo }, metadata);
    const identity = { ...unlabelled, label: writeAddress({ ...address, capitals: guessed.capitals }) };
    const login = { identity, redemption, appId, device, used: wrongPassword, ...(profile && { profile }) };
    return this.logins.complete(login, metadata);
  }

  /** Returns the password that was guessed. */
  private async guess(
    identityId: string,
    { appId, password }: { appId: string; password: string },
    metadata: EventMetadata,
  ): Promise<OneTimePassword> {
    const stream = oneTimePasswordStream(identityId);
    const { state } = await this.transactor
      .transact({
        stream,
        fold: oneTimePasswordFold,
        metadata,
        keep: oneTimePasswordsKept,
        decide: (current, nowMs) => guessOneTimePassword(current, nowMs, { appId }),
      })
      .catch(async (error: unknown) => {
        if (error instanceof Refusal && error.code === 'otp_invalid') await this.workAsIfOpen(stream, appId, password);
        throw error;
      });
    const guessed = openAt(state, appId);
    if (!guessed) throw new Error('the one-time password that was guessed is missing');
    if (!(await this.hashes.verify(guessed.otpId, password, guessed.passwordHash))) throw wrongPassword();
    return guessed;
  }

  /** As much work as for a password that is open. Of parallel guesses at one, those that are not evaluated must cost little. */
  private async workAsIfOpen(stream: string, appId: string, password: string): Promise<void> {
    const { state } = await this.transactor.load(stream, oneTimePasswordFold);
    if (!isGuessedUp(state, appId)) await this.hashes.hash(appId, password);
  }

  /** Returns the redemption: the first one, where the password was redeemed before. */
  private async redeem(
    identityId: string,
    { otpId, linkTo }: { otpId: string; linkTo: string | undefined },
    metadata: EventMetadata,
  ): Promise<Redemption> {
    const sessionId = sessionIdFrom(this.transactor.ids.token(26));
    const { state } = await this.transactor.transact({
      stream: oneTimePasswordStream(identityId),
      fold: oneTimePasswordFold,
      metadata,
      keep: oneTimePasswordsKept,
      decide: (current) =>
        verifyOneTimePassword(current, { otpId, sessionId, ...(linkTo !== undefined && { linkTo }) }),
    });
    const redemption = state.passwords.find((one) => one.otpId === otpId)?.redemption;
    if (!redemption) throw new Error('the one-time password that was redeemed is missing');
    if (redemption.linkTo !== linkTo) throw wrongPassword();
    return redemption;
  }

  /** Of the limit that another request has to wait for longest. */
  private status(state: OneTimePasswords, nowMs: number): RateLimitStatus | undefined {
    return this.limits
      .map((limit) => ({ limit, ...requestsLeft(state, nowMs, limit) }))
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
