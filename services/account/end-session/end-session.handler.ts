import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { SessionEnder } from '../edge/session-ender.ts';

/** Ends one session of a user: another, or the one that asks for it. */
export class EndSession extends Command<Position> {
  constructor(
    readonly session: { sessionId: string; userId: string },
    readonly reason: 'logged_out' | 'ended_by_user',
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

/** Ends every session of a user but one. */
export class EndOtherSessions extends Command<Position> {
  constructor(
    readonly current: { sessionId: string; userId: string },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(EndSession)
export class EndSessionHandler implements ICommandHandler<EndSession> {
  constructor(private readonly sessions: SessionEnder) {}

  execute({ session: { sessionId, userId }, reason, metadata }: EndSession): Promise<Position> {
    return this.sessions.endOwn(sessionId, { userId, reason }, metadata);
  }
}

@CommandHandler(EndOtherSessions)
export class EndOtherSessionsHandler implements ICommandHandler<EndOtherSessions> {
  constructor(private readonly sessions: SessionEnder) {}

  execute({ current, metadata }: EndOtherSessions): Promise<Position> {
    const end = { userId: current.userId, reason: 'ended_by_user' as const };
    return this.sessions.endAll(end, metadata, ({ sessionId }) => sessionId !== current.sessionId);
  }
}
