import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { Apps } from '../../../../shared/auth/apps.ts';
import { SessionEnder } from '../session-ender.ts';

/** Ends one session of a user: the calling one or another. */
export class EndSession extends Command<Position> {
  constructor(
    readonly session: { sessionId: string; userId: string },
    /** The app of the calling session. */
    readonly appId: string,
    readonly reason: 'logged_out' | 'ended_by_user',
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

/** Ends every session of a user except one. */
export class EndOtherSessions extends Command<Position> {
  constructor(
    readonly current: { sessionId: string; userId: string; appId: string },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(EndSession)
export class EndSessionHandler implements ICommandHandler<EndSession> {
  constructor(
    private readonly sessions: SessionEnder,
    private readonly apps: Apps,
  ) {}

  async execute({ session: { sessionId, userId }, appId, reason, metadata }: EndSession): Promise<Position> {
    const onlyOf = await this.apps.onlyOf(appId);
    return this.sessions.endOwn(sessionId, { userId, reason, onlyOf }, metadata);
  }
}

@CommandHandler(EndOtherSessions)
export class EndOtherSessionsHandler implements ICommandHandler<EndOtherSessions> {
  constructor(
    private readonly sessions: SessionEnder,
    private readonly apps: Apps,
  ) {}

  async execute({ current, metadata }: EndOtherSessions): Promise<Position> {
    await this.apps.requireTrusted(current.appId);
    const end = { userId: current.userId, reason: 'ended_by_user' as const };
    return this.sessions.endAll(end, metadata, ({ sessionId }) => sessionId !== current.sessionId);
  }
}
