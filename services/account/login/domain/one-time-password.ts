import type { OtpEvent } from '../../../../schemas/events/account/otp-events.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';

const LIFE_MS = 5 * 60_000;
const GUESSES_MAX = 5;
/** More, with the token of the request. */
const TOKEN_GUESSES_MAX = 5;
/** In a row at an app: of a million passwords. */
const FAILURES_MAX = 100;
const LOCK_MS = 24 * 3_600_000;
/** How many requests are counted. A limit that allows more allows this many. */
const COUNTED_MAX = 100;
const VERIFIED_APPS_MAX = 50;
/** How far the clocks of processes may differ. What is later than that is of a clock that went back since. */
const CLOCKS_DIFFER_MS = 60_000;
/** What the stream keeps: the passwords of some weeks at an app with all guesses, or of a day at some 35. */
export const oneTimePasswordsKept = { newest: 4_096 };

/**
 * The passwords of an identity at all apps share a stream: an append decides which guess is evaluated, and how many passwords
 * there are, at an app and at all of them.
 */
export const oneTimePasswordStream = (identityId: string): string => `otp-${identityId}`;

export interface OneTimePassword {
  otpId: string;
  appId: string;
  passwordHash: string;
  /** Of the address that it was sent to. */
  capitals: readonly number[];
  /** Where no message was sent. */
  isSent?: false;
  /** Unix milliseconds. */
  issuedAt: number;
  expiresAt: string;
  /** With and without a token. */
  guesses: number;
  tokenGuesses: number;
  /** `undefined` until a guess was right. */
  redemption: { sessionId: string; eventId: string; linkTo?: string } | undefined;
}

interface AtApp {
  /** When the newest were issued, in Unix milliseconds, oldest first. */
  issuedAt: readonly number[];
  /** Guesses since the last one that was right. */
  failures: number;
  /** Unix milliseconds. */
  lockedUntil: number;
}

export interface OneTimePasswords {
  /** The newest of each app, without those that had expired when the newest of all was issued. */
  passwords: readonly OneTimePassword[];
  /** By app. */
  apps: Readonly<Record<string, AtApp>>;
  /** At all apps, as `issuedAt` of one. */
  issuedAt: readonly number[];
  /** Of the address as first given; `undefined` until a password sent to it was verified. */
  capitals: readonly number[] | undefined;
  /** Where a password was verified, the newest last. */
  verifiedApps: readonly string[];
}

const atApp = ({ apps }: OneTimePasswords, appId: string): AtApp =>
  apps[appId] ?? { issuedAt: [], failures: 0, lockedUntil: 0 };

const changeApp = (state: OneTimePasswords, appId: string, changes: Partial<AtApp>): OneTimePasswords => ({
  ...state,
  apps: { ...state.apps, [appId]: { ...atApp(state, appId), ...changes } },
});

const changePassword = (
  state: OneTimePasswords,
  otpId: string,
  changes: (password: OneTimePassword) => Partial<OneTimePassword>,
): OneTimePasswords => ({
  ...state,
  passwords: state.passwords.map((one) => (one.otpId === otpId ? { ...one, ...changes(one) } : one)),
});

const counted = (issuedAt: readonly number[], time: number): number[] => [...issuedAt, time].slice(-COUNTED_MAX);

const foldIssued = (
  state: OneTimePasswords,
  { isKnown, verifiedApps, ...issued }: Extract<OtpEvent, { type: 'OtpIssued' }>['data'],
  time: number,
): OneTimePasswords => {
  const { appId } = issued;
  const others = state.passwords.filter((one) => one.appId !== appId && Date.parse(one.expiresAt) > time);
  return {
    ...changeApp(state, appId, { issuedAt: counted(atApp(state, appId).issuedAt, time) }),
    passwords: [...others, { ...issued, issuedAt: time, guesses: 0, tokenGuesses: 0, redemption: undefined }],
    issuedAt: counted(state.issuedAt, time),
    // Said with each password, because the stream forgets the one that was verified.
    capitals: isKnown ? issued.capitals : state.capitals,
    verifiedApps: verifiedApps ?? state.verifiedApps,
  };
};

export const oneTimePasswordFold = {
  initial: { passwords: [], apps: {}, issuedAt: [], capitals: undefined, verifiedApps: [] } as OneTimePasswords,
  evolve: (state: OneTimePasswords, { type, data }: OtpEvent, time: number, eventId: string): OneTimePasswords => {
    if (type === 'OtpIssued') return foldIssued(state, data, time);
    if (type === 'OtpLocked') {
      const { appId, until } = data;
      return changeApp(state, appId, { failures: 0, lockedUntil: Date.parse(until) });
    }
    const password = state.passwords.find(({ otpId }) => otpId === data.otpId);
    if (!password) return state;
    const { appId, otpId } = password;
    switch (type) {
      case 'OtpNotSent': {
        const without = (times: readonly number[]) => times.toSpliced(times.lastIndexOf(password.issuedAt), 1);
        const issuedAt = without(state.issuedAt);
        return { ...changeApp(state, appId, { issuedAt: without(atApp(state, appId).issuedAt) }), issuedAt };
      }
      case 'OtpGuessed':
        return changePassword(
          changeApp(state, appId, { failures: atApp(state, appId).failures + 1 }),
          otpId,
          ({ guesses, tokenGuesses }) => ({
            guesses: guesses + 1,
            tokenGuesses: data.withToken ? tokenGuesses + 1 : tokenGuesses,
          }),
        );
      case 'OtpVerified': {
        const { otpId: _, ...redemption } = data;
        const verifiedApps = [...state.verifiedApps.filter((one) => one !== appId), appId].slice(-VERIFIED_APPS_MAX);
        const verified = { ...state, capitals: state.capitals ?? password.capitals, verifiedApps };
        return changePassword(changeApp(verified, appId, { failures: 0, lockedUntil: 0 }), otpId, () => ({
          redemption: { ...redemption, eventId },
        }));
      }
    }
  },
};

export interface RequestLimit {
  name: 'otpRequest' | 'otpRequestDay' | 'otpRequestAll';
  points: number;
  seconds: number;
}

/** Returns how many more may be requested now, and how long it is until one more may be. */
export const requestsLeft = (
  issuedAt: readonly number[],
  nowMs: number,
  { points, seconds }: Pick<RequestLimit, 'points' | 'seconds'>,
): { left: number; waitMs: number } => {
  const countedMax = Math.min(points, COUNTED_MAX);
  const windowMs = seconds * 1_000;
  const inWindow = issuedAt.filter((time) => time + windowMs > nowMs && time <= nowMs + CLOCKS_DIFFER_MS);
  const freedBy = inWindow.at(-countedMax);
  return {
    left: Math.max(0, countedMax - inWindow.length),
    waitMs: freedBy === undefined ? 0 : freedBy + windowMs - nowMs,
  };
};

/** When the passwords of an app were issued. */
export const issuedAt = (state: OneTimePasswords, appId: string): readonly number[] => atApp(state, appId).issuedAt;

/** @param limits of an app @throws Refusal otp_locked, rate_limited */
export const refuseToIssue = (
  state: OneTimePasswords,
  nowMs: number,
  { appId, limits }: { appId: string; limits: readonly RequestLimit[] },
): void => {
  refuseLocked(state, nowMs, appId);
  for (const limit of limits) {
    const { left, waitMs } = requestsLeft(issuedAt(state, appId), nowMs, limit);
    if (left > 0) continue;
    const allowed = `${String(limit.points)} one-time passwords per ${String(limit.seconds)} s are allowed`;
    throw new Refusal('rate_limited', allowed, { retryAfter: Math.ceil(waitMs / 1_000) });
  }
};

/** Closes the one that is open at this app, and none of another. @param limits of an app @param all of all apps */
export const issueOneTimePassword = (
  state: OneTimePasswords,
  nowMs: number,
  {
    limits,
    all,
    capitals,
    ...request
  }: Pick<OneTimePassword, 'otpId' | 'appId' | 'passwordHash' | 'capitals'> & {
    limits: readonly RequestLimit[];
    all: RequestLimit | undefined;
  },
): OtpEvent[] => {
  if (state.passwords.some(({ otpId }) => otpId === request.otpId)) return [];
  refuseToIssue(state, nowMs, { appId: request.appId, limits });
  const { verifiedApps } = state;
  const isUnsent = deliveryOf(state, nowMs, { appId: request.appId, limit: all }) === 'none';
  const known = { isKnown: state.capitals !== undefined, verifiedApps: [...verifiedApps] };
  const sentTo = [...(state.capitals ?? capitals)];
  const sending = { capitals: sentTo, ...known, ...(isUnsent && { isSent: false as const }) };
  return [{ type: 'OtpIssued', data: { ...request, ...sending, expiresAt: toIso(nowMs + LIFE_MS) } }];
};

/**
 * Whether the message of a password is sent, and whether the answer may wait for it. After the passwords that all apps may
 * request together, only apps at which the identity logged in have any sent. The answer must not tell which these are, so
 * then it waits for none.
 */
export const deliveryOf = (
  /** Before it was issued. */
  state: OneTimePasswords,
  nowMs: number,
  { appId, limit }: { appId: string; limit: RequestLimit | undefined },
): 'awaited' | 'unawaited' | 'none' => {
  if (!limit || requestsLeft(state.issuedAt, nowMs, limit).left > 0) return 'awaited';
  return state.verifiedApps.includes(appId) ? 'unawaited' : 'none';
};

/** The message of a password was taken by no server. */
export const withoutMessage = (state: OneTimePasswords, otpId: string): OtpEvent[] => {
  const password = state.passwords.find((one) => one.otpId === otpId);
  const isCounted = password && issuedAt(state, password.appId).includes(password.issuedAt);
  return isCounted ? [{ type: 'OtpNotSent', data: { otpId } }] : [];
};

/**
 * Counts a guess, which may be evaluated once this is stored, and never otherwise.
 * @param hasToken whether the token of this password came with it
 * @throws Refusal otp_locked, otp_invalid
 */
export const guessOneTimePassword = (
  state: OneTimePasswords,
  nowMs: number,
  { appId, hasToken }: { appId: string; hasToken: (otpId: string) => boolean },
): OtpEvent[] => {
  refuseLocked(state, nowMs, appId);
  const password = newestAt(state, appId);
  if (!password || !isOpen(password, nowMs)) throw wrongPassword();
  const { otpId } = password;
  const withToken = hasToken(otpId);
  if (!mayBeGuessed(password, withToken)) throw wrongPassword();
  const guessed = { type: 'OtpGuessed' as const, data: { otpId, ...(withToken && { withToken }) } };
  if (atApp(state, appId).failures + 1 < FAILURES_MAX) return [guessed];
  return [guessed, { type: 'OtpLocked', data: { appId, until: toIso(nowMs + LOCK_MS) } }];
};

/** Without a token five guesses; with it five more, so that no guesses of others are in the way of these. */
const mayBeGuessed = ({ guesses, tokenGuesses }: OneTimePassword, withToken: boolean): boolean =>
  guesses < GUESSES_MAX + TOKEN_GUESSES_MAX && (withToken || guesses - tokenGuesses < GUESSES_MAX);

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

export const newestAt = ({ passwords }: OneTimePasswords, appId: string): OneTimePassword | undefined =>
  passwords.find((password) => password.appId === appId);

const isOpen = ({ issuedAt: time, expiresAt }: OneTimePassword, nowMs: number): boolean =>
  Date.parse(expiresAt) > nowMs && time <= nowMs + CLOCKS_DIFFER_MS;

/** One answer, whatever the reason: guessing tells nothing. */
export const wrongPassword = (): Refusal =>
  new Refusal('otp_invalid', 'it is wrong, used, guessed too often or older than 5 minutes: ask for another one');

const refuseLocked = (state: OneTimePasswords, nowMs: number, appId: string): void => {
  const waitMs = atApp(state, appId).lockedUntil - nowMs;
  // Longer than any lock: the clock went back.
  if (waitMs <= 0 || waitMs > LOCK_MS + CLOCKS_DIFFER_MS) return;
  const retryAfter = Math.ceil(waitMs / 1_000);
  throw new Refusal('otp_locked', 'too many guesses were wrong: log in another way, or wait', { retryAfter });
};
