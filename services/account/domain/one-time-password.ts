import type { OtpEvent } from '../../../schemas/events/otp-events.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { toIso } from '../../../shared/primitives/clock.ts';

const LIFE_MS = 5 * 60_000;
const GUESSES_MAX = 5;
/** In a row, whatever the app: of a million passwords. */
const FAILURES_MAX = 100;
const LOCK_MS = 24 * 3_600_000;
/** How many requests are counted. A limit that allows more allows this many. */
const COUNTED_MAX = 100;
/** What the stream keeps: as many passwords with all of their guesses, and more. */
export const oneTimePasswordsKept = { newest: 1_024 };

/**
 * The passwords of an identity at all apps share a stream: an append decides which guess is evaluated, and of all apps
 * together how many passwords a day and how many failures in a row there are.
 */
export const oneTimePasswordStream = (identityId: string): string => `otp-${identityId}`;

export interface OneTimePassword {
  otpId: string;
  appId: string;
  passwordHash: string;
  /** Of the address that it was sent to. */
  capitals: readonly number[];
  expiresAt: string;
  guesses: number;
  /** `undefined` until a guess was right. */
  redemption: { sessionId: string; eventId: string; linkTo?: string } | undefined;
}

export interface OneTimePasswords {
  /** The newest of each app, without those that had expired when the newest of all was issued. */
  passwords: readonly OneTimePassword[];
  /** When the newest were issued, in Unix milliseconds, oldest first. */
  issuedAt: readonly number[];
  /** Guesses since the last one that was right. */
  failures: number;
  /** Unix milliseconds. */
  lockedUntil: number;
  /** Of the address as first given; `undefined` until a password sent to it was verified. */
  capitals: readonly number[] | undefined;
}

const change = (
  state: OneTimePasswords,
  otpId: string,
  changed: (password: OneTimePassword) => OneTimePassword,
): OneTimePasswords => ({
  ...state,
  passwords: state.passwords.map((password) => (password.otpId === otpId ? changed(password) : password)),
});

export const oneTimePasswordFold = {
  initial: { passwords: [], issuedAt: [], failures: 0, lockedUntil: 0, capitals: undefined } as OneTimePasswords,
  evolve: (state: OneTimePasswords, { type, data }: OtpEvent, time: number, eventId: string): OneTimePasswords => {
    switch (type) {
      case 'OtpIssued': {
        const { isKnown, ...issued } = data;
        const others = state.passwords.filter((one) => one.appId !== data.appId && Date.parse(one.expiresAt) > time);
        return {
          ...state,
          passwords: [...others, { ...issued, guesses: 0, redemption: undefined }],
          issuedAt: [...state.issuedAt, time].slice(-COUNTED_MAX),
          // Said with each password, because the stream forgets the one that was verified.
          capitals: isKnown ? data.capitals : state.capitals,
        };
      }
      case 'OtpGuessed':
        return change({ ...state, failures: state.failures + 1 }, data.otpId, (password) => ({
          ...password,
          guesses: password.guesses + 1,
        }));
      case 'OtpVerified': {
        const { otpId, ...redemption } = data;
        const verified = state.passwords.find((password) => password.otpId === otpId);
        const capitals = state.capitals ?? verified?.capitals;
        return change({ ...state, failures: 0, lockedUntil: 0, capitals }, otpId, (password) => ({
          ...password,
          redemption: { ...redemption, eventId },
        }));
      }
      case 'OtpLocked':
        return { ...state, failures: 0, lockedUntil: Date.parse(data.until) };
    }
  },
};

export interface RequestLimit {
  name: 'otpRequest' | 'otpRequestDay';
  points: number;
  seconds: number;
}

/** Returns how many more may be requested now, and how long it is until one more may be. */
export const requestsLeft = (
  { issuedAt }: OneTimePasswords,
  nowMs: number,
  { points, seconds }: Pick<RequestLimit, 'points' | 'seconds'>,
): { left: number; waitMs: number } => {
  const countedMax = Math.min(points, COUNTED_MAX);
  const windowMs = seconds * 1_000;
  const inWindow = issuedAt.filter((time) => time + windowMs > nowMs);
  const freedBy = inWindow.at(-countedMax);
  return {
    left: Math.max(0, countedMax - inWindow.length),
    waitMs: freedBy === undefined ? 0 : freedBy + windowMs - nowMs,
  };
};

/** @throws Refusal otp_locked, rate_limited */
export const refuseToIssue = (state: OneTimePasswords, nowMs: number, limits: readonly RequestLimit[]): void => {
  refuseLocked(state, nowMs);
  for (const limit of limits) {
    const { left, waitMs } = requestsLeft(state, nowMs, limit);
    if (left > 0) continue;
    const allowed = `${String(limit.points)} one-time passwords per ${String(limit.seconds)} s are allowed`;
    throw new Refusal('rate_limited', allowed, { retryAfter: Math.ceil(waitMs / 1_000) });
  }
};

/** Closes the one that is open at this app, and none of another. */
export const issueOneTimePassword = (
  state: OneTimePasswords,
  nowMs: number,
  {
    limits,
    capitals,
    ...request
  }: Pick<OneTimePassword, 'otpId' | 'appId' | 'passwordHash' | 'capitals'> & { limits: readonly RequestLimit[] },
): OtpEvent[] => {
  if (state.passwords.some(({ otpId }) => otpId === request.otpId)) return [];
  refuseToIssue(state, nowMs, limits);
  const isKnown = state.capitals !== undefined;
  const sentTo = [...(state.capitals ?? capitals)];
  return [{ type: 'OtpIssued', data: { ...request, capitals: sentTo, isKnown, expiresAt: toIso(nowMs + LIFE_MS) } }];
};

/**
 * Counts a guess, which may be evaluated once this is stored, and never otherwise.
 * @throws Refusal otp_locked, otp_invalid
 */
export const guessOneTimePassword = (
  state: OneTimePasswords,
  nowMs: number,
  { appId }: { appId: string },
): OtpEvent[] => {
  refuseLocked(state, nowMs);
  const open = openAt(state, appId);
  if (!open || Date.parse(open.expiresAt) <= nowMs || open.guesses >= GUESSES_MAX) throw wrongPassword();
  const guessed = { type: 'OtpGuessed' as const, data: { otpId: open.otpId } };
  if (state.failures + 1 < FAILURES_MAX) return [guessed];
  return [guessed, { type: 'OtpLocked', data: { until: toIso(nowMs + LOCK_MS) } }];
};

/** Redeems a password once: one that is redeemed already keeps its session. */
export const verifyOneTimePassword = (
  state: OneTimePasswords,
  redemption: Extract<OtpEvent, { type: 'OtpVerified' }>['data'],
): OtpEvent[] => {
  const password = state.passwords.find(({ otpId }) => otpId === redemption.otpId);
  // Another one was requested while the guess was evaluated.
  if (!password) throw wrongPassword();
  return password.redemption ? [] : [{ type: 'OtpVerified', data: redemption }];
};

/** Whether nothing that is sent for the password of this app is evaluated any more. */
export const isGuessedUp = (state: OneTimePasswords, appId: string): boolean =>
  (openAt(state, appId)?.guesses ?? 0) >= GUESSES_MAX;

export const openAt = ({ passwords }: OneTimePasswords, appId: string): OneTimePassword | undefined =>
  passwords.find((password) => password.appId === appId);

/** One answer, whatever the reason: guessing tells nothing. */
export const wrongPassword = (): Refusal =>
  new Refusal('otp_invalid', 'it is wrong, used, guessed too often or older than 5 minutes: ask for another one');

const refuseLocked = ({ lockedUntil }: OneTimePasswords, nowMs: number): void => {
  if (lockedUntil <= nowMs) return;
  const retryAfter = Math.ceil((lockedUntil - nowMs) / 1_000);
  throw new Refusal('otp_locked', 'too many guesses were wrong: log in another way, or wait', { retryAfter });
};
