import { join } from 'node:path';
import { Module, type DynamicModule } from '@nestjs/common';
import { Transactor } from '../../shared/event-store/transact.ts';
import { startService, type RunningService, type ServiceOptions } from '../../shared/edge/start-service.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import { SignedAppCallers } from './authenticate-app/signed-app-callers.ts';
import { ownIssuer, SessionTokens } from './edge/session-tokens.jose.ts';
import { Logins } from './edge/logins.ts';
import { openSigningKeys } from './edge/signing-keys.file.ts';
import { isNative } from './edge/recover-signer.ts';
import { SIGNING_KEYS, type SigningKeys } from './edge/signing-keys.ts';
import { GetUserHandler } from './get-user/get-user.handler.ts';
import { GetUserHttp } from './get-user/get-user.http.ts';
import { IssueChallengeHandler } from './log-in-with-wallet/issue-challenge.handler.ts';
import { LogInWithWalletHandler } from './log-in-with-wallet/log-in-with-wallet.handler.ts';
import { LogInWithWalletHttp } from './log-in-with-wallet/log-in-with-wallet.http.ts';
import { PublishKeysHttp } from './publish-keys/publish-keys.http.ts';
import { ReadHistoryHandler } from './read-history/read-history.handler.ts';
import { ReadHistoryHttp } from './read-history/read-history.http.ts';
import { RefreshSessionHandler } from './refresh-session/refresh-session.handler.ts';
import { RefreshSessionHttp } from './refresh-session/refresh-session.http.ts';
import { ReportStatusHandler } from './report-status/report-status.handler.ts';
import { ReportStatusHttp } from './report-status/report-status.http.ts';
import { UpdateProfileHandler } from './update-profile/update-profile.handler.ts';
import { UpdateProfileHttp } from './update-profile/update-profile.http.ts';

@Module({})
class AccountModule {}

/** The account service: logins, sessions, users and their history. */
const accountModule = (signingKeys: SigningKeys): DynamicModule => ({
  module: AccountModule,
  controllers: [
    LogInWithWalletHttp,
    RefreshSessionHttp,
    PublishKeysHttp,
    GetUserHttp,
    UpdateProfileHttp,
    ReadHistoryHttp,
    ReportStatusHttp,
  ],
  providers: [
    { provide: SIGNING_KEYS, useValue: signingKeys },
    SessionTokens,
    {
      provide: Logins,
      useFactory: (transactor: Transactor, tokens: SessionTokens) => new Logins(transactor, tokens),
      inject: [Transactor, SessionTokens],
    },
    IssueChallengeHandler,
    LogInWithWalletHandler,
    RefreshSessionHandler,
    GetUserHandler,
    UpdateProfileHandler,
    ReadHistoryHandler,
    ReportStatusHandler,
  ],
});

export interface RunningAccount extends RunningService {
  /** The URL that clients use, and the tokens' `iss`: `ACCOUNT_URL`, or else the address on which it listens. */
  publicUrl: string;
}

export const startAccount = async (
  foundation: Foundation,
  options: Pick<ServiceOptions, 'readiness' | 'configure'> = {},
): Promise<RunningAccount> => {
  const { DATA_DIR, HOST, ACCOUNT_PORT, ACCOUNT_URL } = foundation.settings;
  if (!isNative) {
    foundation.logger.warn(
      'the package secp256k1 has no binary for this machine: signatures are checked by ethers, slowly',
    );
  }
  const keys = openSigningKeys(join(DATA_DIR, 'keys'), foundation.masterKey);
  let publicUrl = ACCOUNT_URL;
  const issuer = ownIssuer(keys, () => {
    if (publicUrl === undefined) throw new Error('the address is known once the service listens');
    return publicUrl;
  });
  const service = await startService({
    ...options,
    module: accountModule(keys),
    foundation,
    issuer,
    appCallers: { useFactory: (transactor: Transactor) => new SignedAppCallers(transactor), inject: [Transactor] },
    host: HOST,
    port: ACCOUNT_PORT,
  });
  publicUrl ??= service.url;
  return { ...service, publicUrl };
};
