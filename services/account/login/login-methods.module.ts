import type { Provider, Type } from '@nestjs/common';
import { emailLogin } from './log-in-with-email/email.module.ts';
import { messengerUserLogin } from './log-in-messenger-user/messenger-user.module.ts';
import { botLogin } from './log-in-with-bot/bot.module.ts';
import { messengerLogin } from './log-in-with-messenger/messenger.module.ts';
import { oauthLogin } from './log-in-with-oauth/oauth.module.ts';
import { passkeyLogin } from './log-in-with-passkey/passkey.module.ts';
import { walletLogin } from './log-in-with-wallet/wallet.module.ts';
import type { LoginMethodModule, LoginNeeds } from './login-method.module.ts';
import { OFFERED_METHODS, type OfferedMethods } from './offered-methods.ts';

/** Every way to log in, in the order in which the status names them. */
export const loginMethods = {
  wallet: walletLogin,
  messenger: messengerLogin,
  bot: botLogin,
  messengerUser: messengerUserLogin,
  email: emailLogin,
  oauth: oauthLogin,
  passkey: passkeyLogin,
} as const satisfies Record<string, LoginMethodModule>;

const all: readonly LoginMethodModule[] = Object.values(loginMethods);

export const openLoginMethods = (needs: LoginNeeds) => {
  const opened = all.map((method) => method.open(needs));
  const offered: OfferedMethods = all.flatMap((method) => method.offered(needs.foundation.settings));
  return {
    measured: opened.flatMap(({ measured = [] }) => measured),
    controllers: all.flatMap<Type>(({ controllers }) => controllers),
    providers: [
      { provide: OFFERED_METHODS, useValue: offered },
      ...opened.flatMap<Provider>(({ providers }) => providers),
    ],
  };
};
