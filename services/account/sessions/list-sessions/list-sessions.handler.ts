import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { SessionList } from '../../../schemas/http/session-routes.ts';
import { AppEnds } from '../../../shared/auth/app-ends.ts';
import { CLOCK, READ_STORE } from '../../../shared/edge/tokens.ts';
import { toIso, type Clock } from '../../../shared/primitives/clock.ts';
import { sessionsModel } from '../../../shared/read-models/sessions.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { Apps } from '../edge/apps.ts';
import { SESSION_IDLE_MS, SESSION_LIFE_MS } from '../domain/session.ts';

const LISTED_MAX = 1_000;

/** The sessions of a user that can still be used, the last used first. */
export class ListSessions extends Query<SessionList> {
  constructor(
    readonly userId: string,
    readonly currentId: string,
    /** Of the session that asks. */
    readonly appId: string,
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
  ) {}

  async execute({ userId, currentId, appId: asking }: ListSessions): Promise<SessionList> {
    const now = this.clock.now();
    const onlyOf = await this.apps.onlyOf(asking);
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
    const items = sessions
      .filter(({ appId }) => !revokedApps.has(appId))
      .map(({ id, appId: app, method, device, createdAt, lastUsedAt }) => ({
        ...{ id, app, method, device, createdAt, lastUsedAt },
        current: id === currentId,
      }));
    return { items };
  }
}
