import { Module, type Provider, type Type } from '@nestjs/common';
import { startService, type RunningService, type ServiceOptions } from '../../shared/edge/start-service.ts';
import { Transactor } from '../../shared/event-store/transactions/transact.ts';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import { Loops } from '../../shared/loops/loops.ts';
import { openOnchain } from '../onchain/onchain.module.ts';
import { openApps } from './apps/apps.module.ts';
import { openErasure } from './erase-user/erase-user.module.ts';
import { openHistory } from './history/history.module.ts';
import { signingKeyStore } from './key-administration.ts';
import { openLog } from './transparency-log/log.module.ts';
import {
  openLogin,
  serveDevelopmentMessages,
  type PasswordOptions,
  type ProviderLimits,
} from './login/login.module.ts';
import { openChannels } from './messages/channels.module.ts';
import { openAccountChains } from './open-chains.ts';
import { processManager } from './process-manager.ts';
import { openStatus } from './report-status/report-status.module.ts';
import { openPersonalData } from './personal-data/personal-data.module.ts';
import { openSessions } from './sessions/sessions.module.ts';
import { openUsers } from './users/users.module.ts';

@Module({})
class AccountModule {}

export interface RunningAccount extends RunningService {
  /**
   * The URL that clients use, and the tokens' `iss`: `ACCOUNT_URL`, or else the address on which the service listens.
   */
  publicUrl: string;
}

type AccountOptions = Pick<ServiceOptions, 'readiness' | 'configure'> & {
  passwordOptions?: PasswordOptions;
  /** How long a mail server or a messenger may take for a message. Default: 3.5 s and 3 s. */
  messageWithinMs?: number;
  /** Default: 3 s for a request, 4 s for an answer, 1.5 s for the profile. */
  providerLimits?: ProviderLimits;
  /** How long an endpoint of a chain may take for an answer about the newest state. Default: 2 s. */
  chainAnswersWithinMs?: number;
  /** How long the status of a chain waits for each of its parts. Default: 500 ms. */
  statusWithinMs?: number;
};

export const startAccount = async (
  foundation: Foundation & WithKeyVault,
  { passwordOptions, messageWithinMs, providerLimits, ...options }: AccountOptions = {},
): Promise<RunningAccount> => {
  const { HOST, ACCOUNT_PORT, ACCOUNT_URL, CHAINS } = foundation.settings;
  const personalData = personalDataOf(foundation);
  const { keys } = personalData;
  let publicUrl = ACCOUNT_URL;
  const ownUrl = () => {
    if (publicUrl === undefined) throw new Error('the address is known once the service listens');
    return publicUrl;
  };
  const { eventStore, readStore, clock, ids, logger } = foundation;
  const transactor = new Transactor(eventStore, clock, ids, personalData);
  const openedApps = openApps(transactor, foundation);
  const { apps, appCallers } = openedApps;
  const chains = openAccountChains(CHAINS, options.chainAnswersWithinMs);
  const { opened, latestStates } = chains;
  const channels = await openChannels(foundation, ownUrl, messageWithinMs);
  const history = await openHistory(keys);
  const { historyThread } = history;
  const shared = { foundation, transactor, keys, apps, latestStates };
  const onchain = openOnchain({ ...shared, historyThread, opened, statusWithinMs: options.statusWithinMs });
  const { smartAccounts: accounts } = onchain;
  const sessions = await openSessions({ store: signingKeyStore(foundation), transactor, readStore, logger, ownUrl });
  const { tokens } = sessions;
  const login = await openLogin({ ...shared, channels, providerLimits, accounts, tokens, passwordOptions });
  const log = await openLog({ ...foundation, transactor, keys, ownUrl });
  const erasure = openErasure(transactor, keys, onchain.accountUse);
  const users = openUsers({ eventStore, readStore, personalData, thread: historyThread });
  const data = openPersonalData(ownUrl);
  const status = openStatus(onchain.chainStatuses);
  const features = [openedApps, login, sessions, users, history, log, data, erasure, status];
  const { erasures } = erasure;
  const { unlinkings } = login;
  const service = await startService({
    ...options,
    configure: async (app) => {
      await options.configure?.(app);
      serveDevelopmentMessages(channels)(app);
    },
    module: {
      module: AccountModule,
      imports: [onchain.module],
      controllers: features.flatMap(({ controllers }): Type[] => controllers),
      providers: features.flatMap(({ providers }): Provider[] => providers),
    },
    foundation: { ...foundation, personalData, transactor },
    issuer: sessions.issuer,
    loops: new Loops([processManager({ eventStore, readStore, erasures, unlinkings, logger }), ...onchain.loops]),
    appCallers,
    host: HOST,
    port: ACCOUNT_PORT,
  });
  publicUrl ??= service.url;
  log.witnesses.start();
  const close = async () => {
    await service.close();
    await log.witnesses.stop();
    await historyThread.close();
    chains.close();
  };
  return { ...service, measured: [...login.measured, ...log.measured], close, publicUrl };
};
