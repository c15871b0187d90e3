import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { HistoryThread } from '../../../shared/audit/history-thread.ts';
import { Apps } from '../../../shared/auth/apps.ts';
import { PositionHeader } from '../../../shared/edge/answers/position-header.ts';
import { Projections } from '../../../shared/edge/answers/projections.ts';
import { CLOCK, EVENT_STORE, READ_STORE } from '../../../shared/edge/tokens.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { PersonalData } from '../../../shared/key-vault/personal-data.ts';
import { toIso, type Clock } from '../../../shared/primitives/clock.ts';
import { historyModel } from '../../../shared/read-models/account/history.ts';
import { sessionsModel } from '../../../shared/read-models/account/sessions.ts';
import { userReferencesModel } from '../../../shared/read-models/account/user-references.ts';
import { usersModel, type UserDocument } from '../../../shared/read-models/account/users.ts';
import { watchesModel } from '../../../shared/read-models/event-catcher/watches.ts';
import { reservationsModel } from '../../../shared/read-models/onchain/reservations.ts';
import { transactionsModel } from '../../../shared/read-models/onchain/transactions.ts';
import { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { HeldSources } from './held-data.ts';
import { personalDocument, sessionAppsOf, type DocumentFrame } from './personal-document.ts';

/** The URL of this service, as clients use it. */
export const OWN_URL = Symbol('OwnUrl');

/** Reads what is held about a user, as the JSON of one document. */
export class ReadPersonalData extends Query<AsyncIterable<string>> {
  constructor(
    readonly userId: string,
    readonly sessionId: string,
    /** Aborts when the client no longer waits for the answer. */
    readonly ended: AbortSignal,
  ) {
    super();
  }
}

const { user } = usersModel.collections;
const { head } = historyModel.collections;

/** The read models that have a part of the document. */
export const personalDataModels = [
  ...[usersModel, sessionsModel, historyModel, transactionsModel, watchesModel, reservationsModel, userReferencesModel],
].map(({ name }) => name);

@QueryHandler(ReadPersonalData)
export class ReadPersonalDataHandler implements IQueryHandler<ReadPersonalData> {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    @Inject(EVENT_STORE) private readonly eventStore: EventStore,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(OWN_URL) private readonly ownUrl: () => string,
    private readonly models: Projections,
    private readonly positions: PositionHeader,
    private readonly personalData: PersonalData,
    private readonly thread: HistoryThread,
    private readonly apps: Apps,
  ) {}

  async execute({ userId, sessionId, ended }: ReadPersonalData): Promise<AsyncIterable<string>> {
    const position = await this.eventStore.head();
    // A read model that is behind would leave something out, which nobody would notice.
    await Promise.all(personalDataModels.map((model) => this.models.reached(model, position)));
    const found = await this.stored(userId);
    const { readStore, eventStore, personalData, thread } = this;
    const budget = new QueryBudget({ caller: userId, signal: ended });
    const sources: HeldSources = {
      ...{ readStore, eventStore, personalData },
      inSlot: (piece) => thread.inSlot(budget, piece),
    };
    const isTrusted = async (appId: string) => (await this.apps.onlyOf(appId)) === undefined;
    return personalDocument({
      sources,
      subject: { user: found, sessionId },
      frame: await this.frame(userId, position),
      apps: await sessionAppsOf(sources, userId, isTrusted),
    });
  }

  /** @throws Refusal user_not_found, user_erased */
  private async stored(userId: string): Promise<UserDocument> {
    const stored = (await this.readStore.getMany(user.name, [userId])).get(userId);
    if (!stored) throw new Refusal('user_not_found', 'no user has this id');
    const found = user.document.parse(stored.document);
    if (found.erasedAt !== null) throw new Refusal('user_erased', 'this user was erased');
    return found;
  }

  private async frame(subject: string, position: number): Promise<DocumentFrame> {
    const newest = (await this.readStore.getMany(head.name, [subject])).get(subject);
    return {
      subject,
      generatedAt: toIso(this.clock.now()),
      position: this.positions.write(position),
      history: {
        items: newest ? head.document.parse(newest.document).count : 0,
        url: `${this.ownUrl()}/user/${encodeURIComponent(subject)}/history/export`,
      },
    };
  }
}
