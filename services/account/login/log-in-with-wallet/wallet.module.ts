import type { LoginMethodModule } from '../login-method.module.ts';
import { IssueChallengeHandler } from './issue-challenge.handler.ts';
import { LogInWithWalletHandler } from './log-in-with-wallet.handler.ts';
import { LogInWithWalletHttp } from './log-in-with-wallet.http.ts';
import { WalletSignatures } from './wallet-signatures.ts';

export const walletLogin: LoginMethodModule = {
  offered: () => ['wallet'],
  controllers: [LogInWithWalletHttp],
  open: ({ latestStates, identityIds }) => ({
    providers: [
      { provide: WalletSignatures, useValue: new WalletSignatures(latestStates, identityIds) },
      IssueChallengeHandler,
      LogInWithWalletHandler,
    ],
  }),
};
