import type { Clock } from '../primitives/clock.ts';
import { AnnalsError, endsSession } from './annals-error.ts';
import type { KeptValues } from './client-storage.ts';
import type { Session } from './routes.ts';
import { untilAborted } from '../primitives/waiting/until-aborted.ts';

/** The answer of a login; an app that logs in as itself has no refresh token and no user. */
export type LoginAnswer = Pick<Session, 'accessToken' | 'accessTokenExpire'> & Partial<Session>;
type KeptSession = LoginAnswer & {
  /** Of this machine's clock, which may be wrong: from then on the access token is refreshed before it is used. */
  staleAt: number;
};
/** A refresh that was perhaps sent. */
interface StartedRefresh {
  refreshToken: string;
  key: string;
}

export type SessionState =
  | { status: 'loading' }
  | { status: 'signed_out' }
  /** `userId` is undefined where an app is logged in as itself. */
  | { status: 'signed_in'; userId: string | undefined };

export interface Renewals {
  refresh: (refreshToken: string, idempotencyKey: string) => Promise<LoginAnswer>;
  /** Logs the app in anew. */
  logInApp: () => Promise<LoginAnswer>;
}

const SESSION = 'session';
const REFRESH = 'refresh';
/** A socket is warned 60 s before its token expires. */
const RENEW_BEFORE_MS = 90_000;
const KEY_BYTES = 24;

interface LockManager {
  request: <Result>(name: string, work: () => Promise<Result>) => Promise<Result>;
}

/** Keeps the session in the caller's storage, and its access token fresh: with one refresh in flight for all tabs. */
export class SessionKeeper {
  state: SessionState = { status: 'loading' };
  private renewal: { of: string; session: Promise<KeptSession> } | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly kept: KeptValues,
    private readonly renewals: Renewals,
    private readonly clock: Clock,
    private readonly lockName: string,
  ) {
    kept.onChange(SESSION, () => {
      this.load().catch(() => undefined);
    });
  }

  /** @returns a function that removes the listener */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Reads the session, which another tab may have begun, refreshed or ended. */
  async load(): Promise<KeptSession | undefined> {
    const session = await this.kept.get<KeptSession>(SESSION);
    this.show(session);
    return session;
  }

  async begin(answer: LoginAnswer): Promise<void> {
    await this.keep(answer);
  }

  async end(): Promise<void> {
    await this.kept.delete(SESSION);
    await this.kept.delete(REFRESH);
    this.show(undefined);
  }

  /**
   * Returns a token that stays valid for a minute at least.
   * @param refused a token that a service did not take, or will soon not take
   * @throws AnnalsError not_signed_in, and what a refresh is refused for
   */
  async accessToken({ refused, signal }: { refused?: string | undefined; signal?: AbortSignal | undefined } = {}) {
    const session = await this.load();
    if (!session) throw notSignedIn();
    if (this.isFresh(session, refused)) return session.accessToken;
    const of = session.accessToken;
    if (this.renewal?.of !== of) {
      const renewed = this.locked(() => this.renew(refused)).finally(() => {
        if (this.renewal?.of === of) this.renewal = undefined;
      });
      this.renewal = { of, session: renewed };
    }
    return (await untilAborted(this.renewal.session, signal)).accessToken;
  }

  private isFresh({ accessToken, staleAt }: KeptSession, refused: string | undefined): boolean {
    return accessToken !== refused && this.clock.now() < staleAt;
  }

  private async renew(refused: string | undefined): Promise<KeptSession> {
    const session = await this.load();
    if (!session) throw notSignedIn();
    // Another tab had the lock before.
    if (this.isFresh(session, refused)) return session;
    let answer: LoginAnswer;
    try {
      answer = await this.answerTo(session);
    } catch (error) {
      if (!endsSession(error)) throw error;
      // Without a lock another tab may have refreshed at the same moment.
      const other = await this.otherThan(session);
      if (other) return other;
      await this.end();
      throw error;
    }
    return (await this.otherThan(session)) ?? this.keep(answer);
  }

  private async answerTo({ refreshToken }: KeptSession): Promise<LoginAnswer> {
    if (refreshToken === undefined) return this.renewals.logInApp();
    return this.renewals.refresh(refreshToken, await this.keyFor(refreshToken));
  }

  /** Returns the session that was begun meanwhile, if any. @throws AnnalsError not_signed_in if this one was ended */
  private async otherThan({ accessToken }: KeptSession): Promise<KeptSession | undefined> {
    const now = await this.load();
    if (!now) throw notSignedIn();
    return now.accessToken === accessToken ? undefined : now;
  }

  /** Stored before it is sent: a refresh whose answer was lost is repeated with the same key, and answered the same. */
  private async keyFor(refreshToken: string): Promise<string> {
    const started = await this.kept.get<StartedRefresh>(REFRESH);
    if (started?.refreshToken === refreshToken) return started.key;
    const key = randomKey();
    await this.kept.set(REFRESH, { refreshToken, key } satisfies StartedRefresh);
    return key;
  }

  private async keep(answer: LoginAnswer): Promise<KeptSession> {
    const now = this.clock.now();
    // The services' clock made both times, so their difference is right whatever the clock here says.
    const lifeMs = answer.accessTokenExpire - issuedAt(answer.accessToken);
    const session: KeptSession = { ...answer, staleAt: now + Math.max(lifeMs - RENEW_BEFORE_MS, lifeMs / 2) };
    await this.kept.set(SESSION, session);
    await this.kept.delete(REFRESH);
    this.show(session);
    return session;
  }

  private show(session: KeptSession | undefined): void {
    const state: SessionState = session ? { status: 'signed_in', userId: session.userId } : { status: 'signed_out' };
    if (JSON.stringify(state) === JSON.stringify(this.state)) return;
    this.state = state;
    for (const listener of this.listeners) listener();
  }

  private locked<Result>(work: () => Promise<Result>): Promise<Result> {
    const { navigator } = globalThis as { navigator?: { locks?: LockManager } };
    return navigator?.locks ? navigator.locks.request(this.lockName, work) : work();
  }
}

const notSignedIn = () => new AnnalsError('not_signed_in', 'sign in first');

/** Returns the `iat` of a token, in milliseconds. */
const issuedAt = (token: string): number => {
  const [, payload = ''] = token.split('.');
  const { iat } = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as { iat: number };
  return iat * 1_000;
};

export const randomKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(KEY_BYTES))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
