import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { ListedSession, SessionList } from '../../../../schemas/http/account/session-routes.ts';
import { AppEnds } from '../../../../shared/auth/app-ends.ts';
import { CLOCK, READ_STORE } from '../../../../shared/edge/tokens.ts';
import { toIso, type Clock } from '../../../../shared/primitives/clock.ts';
import { sessionsModel } from '../../../../shared/read-models/account/sessions.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { QueryBudget } from '../../../../shared/read-store/query-budget.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { Apps } from '../../../../shared/auth/apps.ts';
import { SESSION_IDLE_MS, SESSION_LIFE_MS } from '../domain/session.ts';
import { SessionsAsOf } from './sessions-as-of.ts';

const LISTED_MAX = 1_000;

/** Lists the sessions of a user that are still usable, the last used first; or those that were, the last begun first. */
export class ListSessions extends Query<SessionList> {
  constructor(
    readonly userId: string,
    readonly currentId: string,
    /** The app of the calling session. */
    readonly appId: string,
    /** The state to show, and the time that it is of; default: now. */
    readonly asked?: { asOf: { position: Position; time: number }; ended: AbortSignal },
  ) {
    super();
  }
}

const { session } = sessionsModel.collections;

@QueryHandler(ListSessions)
export class ListSessionsHandler implements IQueryHandler<ListSessions> {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly ends: AppEnds,
    private readonly apps: Apps,
    private readonly earlier: SessionsAsOf,
  ) {}

  async execute({ userId, currentId, appId, asked }: ListSessions): Promise<SessionList> {
    const onlyOf = await this.apps.onlyOf(appId);
    const sessions = await (asked
      ? this.earlier.at(
          { userId, onlyOf, asOf: asked.asOf, limit: LISTED_MAX },
          new QueryBudget({ caller: userId, signal: asked.ended }),
        )
      : this.live(userId, onlyOf));
    return { items: sessions.map((one) => ({ ...one, current: one.id === currentId })) };
  }

  private async live(userId: string, onlyOf: string | undefined): Promise<Omit<ListedSession, 'current'>[]> {
    const now = this.clock.now();
    const found = await this.readStore.find(session.name, {
      filter: {
        userId,
        lastUsedAt: { gt: toIso(now - SESSION_IDLE_MS) },
        createdAt: { gt: toIso(now - SESSION_LIFE_MS) },
        revokedAt: null,
        ...(onlyOf !== undefined && { appId: onlyOf }),
      },
      sort: [
        ['lastUsedAt', 'desc'],
        ['id', 'asc'],
      ],
      limit: LISTED_MAX,
    });
    const sessions = found.map(({ document }) => session.document.parse(document));
    const revokedApps = await this.ends.revokedOf([...new Set(sessions.map(({ appId }) => appId))]);
    return sessions
      .filter(({ appId }) => !revokedApps.has(appId))
      .map(({ id, appId: app, method, device, createdAt, lastUsedAt }) => ({
        ...{ id, app, method, device, createdAt, lastUsedAt },
      }));
  }
}
