import type { ModuleMetadata } from '@nestjs/common';
import type { Logger } from 'pino';
import { HistoryThread } from '../../../shared/audit/history-thread.ts';
import { AppEnds } from '../../../shared/auth/app-ends.ts';
import { Projections } from '../../../shared/edge/answers/projections.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { PersonalData } from '../../../shared/key-vault/personal-data.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { EndOtherSessionsHandler, EndSessionHandler } from './end-session/end-session.handler.ts';
import { EndSessionHttp } from './end-session/end-session.http.ts';
import { IssueAppTokenHttp } from './issue-app-token/issue-app-token.http.ts';
import { ListSessionsHandler } from './list-sessions/list-sessions.handler.ts';
import { ListSessionsHttp } from './list-sessions/list-sessions.http.ts';
import { SessionsAsOf } from './list-sessions/sessions-as-of.ts';
import { PublishKeysHttp } from './publish-keys/publish-keys.http.ts';
import { RefreshSessionHandler } from './refresh-session/refresh-session.handler.ts';
import { RefreshSessionHttp } from './refresh-session/refresh-session.http.ts';
import { SessionEnder } from './session-ender.ts';
import { ownIssuer, SessionTokens } from './session-tokens.jose.ts';
import { SigningKeys, type SigningKeyStore } from './signing-keys.ts';

interface SessionsOptions {
  store: SigningKeyStore;
  transactor: Transactor;
  readStore: ReadStore;
  logger: Logger;
  /** The issuer that tokens name. */
  ownUrl: () => string;
}

/** Sessions, their tokens, and the keys that sign these. */
export const openSessions = async ({ store, transactor, readStore, logger, ownUrl }: SessionsOptions) => {
  const { clock } = transactor;
  const signingKeys = await SigningKeys.open(store, { clock, logger });
  const issuer = ownIssuer(signingKeys, ownUrl);
  const tokens = new SessionTokens(signingKeys, issuer, clock);
  return {
    issuer,
    tokens,
    controllers: [RefreshSessionHttp, IssueAppTokenHttp, ListSessionsHttp, EndSessionHttp, PublishKeysHttp],
    providers: [
      { provide: SigningKeys, useValue: signingKeys },
      { provide: SessionTokens, useValue: tokens },
      { provide: SessionEnder, useValue: new SessionEnder(transactor) },
      RefreshSessionHandler,
      ListSessionsHandler,
      {
        provide: SessionsAsOf,
        useFactory: (models: Projections, ends: AppEnds, personalData: PersonalData, thread: HistoryThread) =>
          new SessionsAsOf({ eventStore: transactor.store, readStore }, models, ends, personalData, thread),
        inject: [Projections, AppEnds, PersonalData, HistoryThread],
      },
      EndSessionHandler,
      EndOtherSessionsHandler,
    ],
  } satisfies ModuleMetadata & Record<string, unknown>;
};
