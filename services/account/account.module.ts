import { Module, type DynamicModule } from '@nestjs/common';
import type { LatestState } from '../../shared/chain/latest-state.ts';
import { Transactor } from '../../shared/event-store/transact.ts';
import { startService, type RunningService, type ServiceOptions } from '../../shared/edge/start-service.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import { SignedAppCallers } from './authenticate-app/signed-app-callers.ts';
import { openLatestStates } from './latest-states.ts';
import { ownIssuer, SessionTokens } from './edge/session-tokens.jose.ts';
import { Apps } from './edge/apps.ts';
import { Logins } from './edge/logins.ts';
import { IdentityIds } from './edge/identity-ids.ts';
import { serveMailbox } from './edge/mailbox-page.ts';
import { serveMessenger } from './log-in-with-bot/development-messenger.http.ts';
import type { PasswordCost } from './edge/password-hashes.ts';
import { isNative } from '../../shared/keys/recover-signer.ts';
import { Erasures } from './erase-user/erasures.ts';
import { EraseUserHandler } from './erase-user/erase-user.handler.ts';
import { EraseUserHttp } from './erase-user/erase-user.http.ts';
import { UpdateMessengerHandler } from './update-messenger/update-messenger.handler.ts';
import { UpdateMessengerHttp } from './update-messenger/update-messenger.http.ts';
import { AuditKey } from '../../shared/audit/audit-key.jose.ts';
import { HistoryThread } from '../../shared/audit/history-thread.ts';
import { Loops } from '../../shared/loops/loops.ts';
import { LATEST_STATES } from './edge/latest-states.ts';
import { SmartAccounts } from './edge/smart-accounts.ts';
import { SigningKeys } from './edge/signing-keys.ts';
import { SessionEnder } from './edge/session-ender.ts';
import { EndOtherSessionsHandler, EndSessionHandler } from './end-session/end-session.handler.ts';
import { EndSessionHttp } from './end-session/end-session.http.ts';
import { FindUserByMessengerHandler, GetUserHandler } from './get-user/get-user.handler.ts';
import { IssueAppTokenHttp } from './issue-app-token/issue-app-token.http.ts';
import { GetUserHttp } from './get-user/get-user.http.ts';
import { UserSnapshots } from './get-user/user-snapshots.ts';
import { signingKeyStore } from './key-administration.ts';
import { processManager } from './process-manager.ts';
import { ListSessionsHandler } from './list-sessions/list-sessions.handler.ts';
import { ListSessionsHttp } from './list-sessions/list-sessions.http.ts';
import { IssueChallengeHandler } from './log-in-with-wallet/issue-challenge.handler.ts';
import { LogInWithWalletHandler } from './log-in-with-wallet/log-in-with-wallet.handler.ts';
import { LogInWithWalletHttp } from './log-in-with-wallet/log-in-with-wallet.http.ts';
import {
  oneTimePasswordControllers,
  oneTimePasswordProviders,
  openChannels,
  type Channels,
} from './one-time-passwords.module.ts';
import { WalletSignatures } from './log-in-with-wallet/wallet-signatures.ts';
import { onchainSends } from './onchain-sends.module.ts';
import { loginsElsewhere } from './logins-elsewhere.module.ts';
import { onchainReadControllers, onchainReadProviders } from './onchain-reads.module.ts';
import { PublishKeysHttp } from './publish-keys/publish-keys.http.ts';
import { ReadHistoryHandler } from './read-history/read-history.handler.ts';
import { ReadHistoryHttp } from './read-history/read-history.http.ts';
import { RefreshSessionHandler } from './refresh-session/refresh-session.handler.ts';
import { RefreshSessionHttp } from './refresh-session/refresh-session.http.ts';
import { ReportStatusHandler } from './report-status/report-status.handler.ts';
import { ReportStatusHttp } from './report-status/report-status.http.ts';
import { UnlinkIdentityHandler } from './unlink-identity/unlink-identity.handler.ts';
import { UnlinkIdentityHttp } from './unlink-identity/unlink-identity.http.ts';
import { Unlinkings } from './unlink-identity/unlinkings.ts';
import { UpdateProfileHandler } from './update-profile/update-profile.handler.ts';
import { UpdateProfileHttp } from './update-profile/update-profile.http.ts';

@Module({})
class AccountModule {}

interface AccountParts {
  signingKeys: SigningKeys;
  identityIds: IdentityIds;
  erasures: Erasures;
  unlinkings: Unlinkings;
  smartAccounts: SmartAccounts;
  auditKey: AuditKey;
  historyThread: HistoryThread;
  userSnapshots: UserSnapshots;
  latestStates: ReadonlyMap<number, LatestState>;
  channels: Channels;
  passwordCost: PasswordCost | undefined;
  elsewhere: ReturnType<typeof loginsElsewhere>;
  onchain: ReturnType<typeof onchainSends>;
}

const controllers = [
  LogInWithWalletHttp,
  ...oneTimePasswordControllers,
  RefreshSessionHttp,
  IssueAppTokenHttp,
  ListSessionsHttp,
  EndSessionHttp,
  UnlinkIdentityHttp,
  PublishKeysHttp,
  GetUserHttp,
  UpdateProfileHttp,
  ReadHistoryHttp,
  UpdateMessengerHttp,
  EraseUserHttp,
  ...onchainReadControllers,
  ReportStatusHttp,
];

/** The account service: logins, sessions, users and their history. */
const accountModule = ({
  signingKeys,
  identityIds,
  erasures,
  unlinkings,
  smartAccounts,
  auditKey,
  historyThread,
  userSnapshots,
  latestStates,
  channels,
  passwordCost,
  elsewhere,
  onchain,
}: AccountParts): DynamicModule => ({
  module: AccountModule,
  controllers: [...elsewhere.controllers, ...onchain.controllers, ...controllers],
  providers: [
    ...elsewhere.providers,
    ...onchain.providers,
    { provide: SigningKeys, useValue: signingKeys },
    { provide: IdentityIds, useValue: identityIds },
    ...oneTimePasswordProviders(channels, passwordCost),
    SessionTokens,
    { provide: Apps, useFactory: (transactor: Transactor) => new Apps(transactor), inject: [Transactor] },
    {
      provide: Logins,
      useFactory: (transactor: Transactor, tokens: SessionTokens, apps: Apps) =>
        new Logins(transactor, tokens, smartAccounts, apps),
      inject: [Transactor, SessionTokens, Apps],
    },
    {
      provide: WalletSignatures,
      useFactory: (ids: IdentityIds) => new WalletSignatures(latestStates, ids),
      inject: [IdentityIds],
    },
    {
      provide: SessionEnder,
      useFactory: (transactor: Transactor) => new SessionEnder(transactor),
      inject: [Transactor],
    },
    IssueChallengeHandler,
    LogInWithWalletHandler,
    RefreshSessionHandler,
    ListSessionsHandler,
    EndSessionHandler,
    EndOtherSessionsHandler,
    UnlinkIdentityHandler,
    GetUserHandler,
    UpdateProfileHandler,
    ReadHistoryHandler,
    UpdateMessengerHandler,
    FindUserByMessengerHandler,
    EraseUserHandler,
    { provide: Erasures, useValue: erasures },
    { provide: Unlinkings, useValue: unlinkings },
    { provide: LATEST_STATES, useValue: latestStates },
    { provide: AuditKey, useValue: auditKey },
    { provide: HistoryThread, useValue: historyThread },
    { provide: UserSnapshots, useValue: userSnapshots },
    ...onchainReadProviders,
    ReportStatusHandler,
  ],
});

export interface RunningAccount extends RunningService {
  /** The URL that clients use, and the tokens' `iss`: `ACCOUNT_URL`, or else the address on which it listens. */
  publicUrl: string;
}

type AccountOptions = Pick<ServiceOptions, 'readiness' | 'configure'> & {
  /** Less than in production, for tests. */
  passwordCost?: PasswordCost;
};

export const startAccount = async (
  foundation: Foundation & WithKeyVault,
  { passwordCost, ...options }: AccountOptions = {},
): Promise<RunningAccount> => {
  const { HOST, ACCOUNT_PORT, ACCOUNT_URL, CHAINS } = foundation.settings;
  if (!isNative) {
    foundation.logger.warn(
      'the package secp256k1 has no binary for this machine: signatures are checked by ethers, slowly',
    );
  }
  const personalData = personalDataOf(foundation);
  const identityIds = new IdentityIds(await personalData.keys.identitiesKey());
  const keys = await SigningKeys.open(signingKeyStore(foundation), foundation);
  let publicUrl = ACCOUNT_URL;
  const ownUrl = () => {
    if (publicUrl === undefined) throw new Error('the address is known once the service listens');
    return publicUrl;
  };
  const issuer = ownIssuer(keys, ownUrl);
  const auditKey = await AuditKey.open(personalData.keys);
  const historyThread = new HistoryThread();
  const { eventStore, readStore, clock, ids, logger } = foundation;
  const transactor = new Transactor(eventStore, clock, ids, personalData);
  const erasures = new Erasures(transactor, personalData.keys);
  const unlinkings = new Unlinkings(transactor);
  const latestStates = openLatestStates(CHAINS);
  const channels = openChannels(foundation, ownUrl);
  const smartAccounts = new SmartAccounts(personalData.keys, CHAINS);
  const onchain = onchainSends({ foundation, transactor, keys: personalData.keys, smartAccounts });
  const elsewhere = loginsElsewhere(foundation);
  const service = await startService({
    ...options,
    configure: async (app) => {
      await options.configure?.(app);
      const { mailbox, messenger } = channels;
      if (mailbox) serveMailbox(mailbox.messages)(app);
      if (messenger && messenger === mailbox?.messenger) serveMessenger(app);
    },
    module: accountModule({
      signingKeys: keys,
      identityIds,
      erasures,
      unlinkings,
      smartAccounts,
      auditKey,
      historyThread,
      userSnapshots: new UserSnapshots(eventStore, personalData, historyThread),
      latestStates,
      channels,
      passwordCost,
      elsewhere,
      onchain,
    }),
    foundation: { ...foundation, personalData },
    issuer,
    loops: new Loops([processManager({ eventStore, readStore, erasures, unlinkings, logger }), ...onchain.loops]),
    appCallers: appCallersOf(foundation),
    host: HOST,
    port: ACCOUNT_PORT,
  });
  publicUrl ??= service.url;
  const close = async () => {
    await service.close();
    await historyThread.close();
    for (const runner of latestStates.values()) runner.close();
    onchain.chains.close();
  };
  return { ...service, measured: elsewhere.measured, close, publicUrl };
};

const appCallersOf = ({ settings }: Pick<Foundation, 'settings'>) => ({
  useFactory: (transactor: Transactor) => new SignedAppCallers(transactor, settings),
  inject: [Transactor],
});
