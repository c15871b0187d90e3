import { userEvents, userStream } from '../../../schemas/events/user-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { sessionStream, type SessionEndReason } from '../../../schemas/events/session-events.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { EventStore, Position } from '../../../shared/event-store/event-store.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import { endSession, isStarted, SESSION_LIFE_MS, sessionFold } from '../domain/session.ts';

/** How far the clocks of two processes may be apart. */
const CLOCKS_MS = 3_600_000;
const PAGE_EVENTS = 200;
const ENDED_AT_ONCE = 20;

interface Begun {
  sessionId: string;
  identityId: string;
  /** Of the event of the login. */
  position: Position;
}

interface SessionEnd {
  userId: string;
  reason: SessionEndReason;
}

/** Ends sessions of a user. A repeat ends those that are left. */
export class SessionEnder {
  constructor(private readonly transactor: Transactor) {}

  /**
   * @param onlyOf the app of which it must be
   * @throws Refusal session_not_found if the user has no such session; forbidden if it is another app's
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
   * Ends those sessions of the user that are meant, also one whose login is in flight: a login is in the stream of its user
   * before its session starts, so that is where they are found, and not in a read model, which may lag. An erasure ends
   * expired sessions too: read models drop the user agent of a session when it is revoked.
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

/** The logins in a user's stream, newest first, back to a time. */
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
