import { userEvents, userStream } from '../../../schemas/events/account/user-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { sessionStream, type SessionEndReason } from '../../../schemas/events/account/session-events.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { EventStore, Position } from '../../../shared/event-store/event-store.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { endSession, isStarted, SESSION_LIFE_MS, sessionFold } from './domain/session.ts';

/** Maximum difference between the clocks of two processes. */
const CLOCKS_MS = 3_600_000;
const PAGE_EVENTS = 200;
const ENDED_AT_ONCE = 20;

interface Begun {
  sessionId: string;
  identityId: string;
  /** Position of the login's event. */
  position: Position;
}

interface SessionEnd {
  userId: string;
  reason: SessionEndReason;
}

/** Ends sessions of a user. A repeated call ends those that are left. */
export class SessionEnder {
  constructor(private readonly transactor: Transactor) {}

  /**
   * @param onlyOf the app to which the session must belong
   * @throws Refusal session_not_found if the user has no such session; forbidden if it belongs to another app
   */
  endOwn(
    sessionId: string,
    end: SessionEnd & { onlyOf: string | undefined },
    metadata: EventMetadata,
  ): Promise<Position> {
    const { onlyOf, ...rest } = end;
    return this.end(sessionId, rest, metadata, (session) => {
      if (session?.userId !== end.userId) throw new Refusal('session_not_found', 'you have no session with this id');
      if (onlyOf !== undefined && isStarted(session) && session.appId !== onlyOf)
        throw new Refusal('forbidden', "the session is another app's: sign in at an app that the operator trusts");
    });
  }

  /**
   * Ends the selected sessions of the user, including one whose login is in flight. They are found in the user's
   * stream, which has a login before its session starts, and not in a read model, which may lag. An erasure also ends
   * expired sessions: read models drop the user agent of a session when it is revoked.
   */
  async endAll(end: SessionEnd, metadata: EventMetadata, isMeant: (begun: Begun) => boolean): Promise<Position> {
    const { store, clock } = this.transactor;
    const stream = userStream(end.userId);
    const [newest] = await store.read(stream, { direction: 'backwards', limit: 1 });
    let position = newest?.position ?? 0;
    let some: Promise<Position>[] = [];
    const finishSome = async () => {
      position = Math.max(position, ...(await Promise.all(some)));
      some = [];
    };
    const sinceMs = end.reason === 'user_erased' ? 0 : clock.now() - SESSION_LIFE_MS - CLOCKS_MS;
    for await (const begun of loginsSince(store, stream, sinceMs)) {
      if (!isMeant(begun)) continue;
      some.push(this.end(begun.sessionId, end, metadata));
      if (some.length === ENDED_AT_ONCE) await finishSome();
    }
    await finishSome();
    return position;
  }

  private async end(
    sessionId: string,
    end: SessionEnd,
    metadata: EventMetadata,
    check: (session: typeof sessionFold.initial) => void = () => undefined,
  ): Promise<Position> {
    const { position } = await this.transactor.transact({
      stream: sessionStream(sessionId),
      fold: sessionFold,
      metadata,
      decide: (session, nowMs) => {
        check(session);
        return endSession(session, nowMs, { sessionId, ...end });
      },
    });
    return position;
  }
}

/** Yields the logins in a user's stream, newest first, back to a time. */
async function* loginsSince(
  store: Pick<EventStore, 'read'>,
  stream: string,
  sinceMs: number,
): AsyncGenerator<Begun, void, undefined> {
  const { data: schema } = userEvents.UserLoggedIn;
  for (let from: number | undefined; from === undefined || from >= 0;) {
    const page = await store.read(stream, {
      direction: 'backwards',
      limit: PAGE_EVENTS,
      ...(from !== undefined && { from }),
    });
    for (const { type, time, data, position } of page) {
      if (time < sinceMs) return;
      if (type === 'UserLoggedIn') yield { ...schema.parse(data), position };
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE_EVENTS) return;
    from = last.revision - 1;
  }
}
