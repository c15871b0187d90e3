import { sessionEvents, sessionStream } from '../../../../schemas/events/account/session-events.ts';
import type { ListedSession } from '../../../../schemas/http/account/session-routes.ts';
import type { HistoryThread } from '../../../../shared/audit/history-thread.ts';
import type { AppEnds } from '../../../../shared/auth/app-ends.ts';
import type { Projections } from '../../../../shared/edge/answers/projections.ts';
import type { EventStore, Position } from '../../../../shared/event-store/event-store.ts';
import type { PersonalData } from '../../../../shared/key-vault/personal-data.ts';
import { CLOCKS_DIFFER_MS, toIso } from '../../../../shared/primitives/clock.ts';
import { inPieces } from '../../../../shared/primitives/in-pieces.ts';
import { sessionsModel, type SessionDocument } from '../../../../shared/read-models/account/sessions.ts';
import type { QueryBudget } from '../../../../shared/read-store/query-budget.ts';
import type { Filter, ReadStore } from '../../../../shared/read-store/read-store.ts';
import { SESSION_IDLE_MS, SESSION_LIFE_MS } from '../domain/session.ts';

/** Sessions per piece of work. Other callers wait for at most one piece. */
const PIECE_SESSIONS = 100;
const { session } = sessionsModel.collections;
const begun = sessionEvents.SessionStarted.data.pick({ sessionId: true, device: true });

interface Stores {
  eventStore: Pick<EventStore, 'read'>;
  readStore: Pick<ReadStore, 'find'>;
}

interface Asked {
  userId: string;
  /** Only sessions of this app. */
  onlyOf: string | undefined;
  /** The state to show, and the time that it is of, in Unix milliseconds. */
  asOf: { position: Position; time: number };
  limit: number;
}

/** Shows the sessions of a user as of an earlier position: those that had not ended, the last begun first. */
export class SessionsAsOf {
  constructor(
    private readonly stores: Stores,
    private readonly models: Projections,
    private readonly ends: AppEnds,
    private readonly personalData: PersonalData,
    private readonly thread: HistoryThread,
  ) {}

  /** @throws Refusal not_caught_up, and as `check` of the budget */
  async at(asked: Asked, budget: QueryBudget): Promise<Omit<ListedSession, 'current'>[]> {
    const { position } = asked.asOf;
    await this.models.reached(sessionsModel.name, position);
    const found = await this.thread.inSlot(budget, () => this.find(asked));
    const apps = await this.ends.revokedBy([...new Set(found.map(({ appId }) => appId))], position);
    const shown = found.filter(({ appId }) => !apps.has(appId));
    const devices = await this.devicesOf(shown, budget);
    return shown.map(({ id, appId: app, method, device, createdAt }) => ({
      ...{ id, app, method, device: devices.get(id) ?? device, createdAt, lastUsedAt: null },
    }));
  }

  /**
   * A session that was unused for too long is never used again. So one that was used then or later had not expired then.
   */
  private async find({ userId, onlyOf, asOf: { position, time }, limit }: Asked): Promise<SessionDocument[]> {
    const filter: Filter = {
      userId,
      createdAt: { gt: toIso(time - SESSION_LIFE_MS), lte: toIso(time + CLOCKS_DIFFER_MS) },
      startedPosition: { lte: position },
      endedPosition: { gt: position },
      lastUsedAt: { gt: toIso(time - SESSION_IDLE_MS) },
      ...(onlyOf !== undefined && { appId: onlyOf }),
    };
    const found = await this.stores.readStore.find(session.name, {
      ...{ filter, limit },
      sort: [
        ['createdAt', 'desc'],
        ['startedPosition', 'desc'],
      ],
    });
    return found.map(({ document }) => session.document.parse(document));
  }

  /** Returns the devices of sessions that have ended since, by session id: the read model has forgotten these. */
  private async devicesOf(sessions: readonly SessionDocument[], budget: QueryBudget) {
    const ended = sessions.filter(({ revokedAt }) => revokedAt !== null);
    const devices = new Map<string, string | null>();
    for (const piece of inPieces(ended, PIECE_SESSIONS)) {
      await this.thread.inSlot(budget, async () => {
        const streams = await Promise.all(
          piece.map(({ id }) => this.stores.eventStore.read(sessionStream(id), { limit: 1 })),
        );
        const documents = streams.flat().map(({ data }) => data);
        const keys = await this.personalData.keysOf(documents);
        const opened = await this.thread.open({ documents, keys });
        for (const { sessionId, device } of opened.map((data) => begun.parse(data))) devices.set(sessionId, device);
      });
    }
    return devices;
  }
}
