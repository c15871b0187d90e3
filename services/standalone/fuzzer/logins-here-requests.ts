import type { Challenge } from '../../../schemas/http/account/account-routes.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { newestPassword, passwordIn } from '../../account/testing/one-time-passwords.ts';
import type { AccountUnderFuzzing } from './account-under-fuzzing.ts';
import type { Valid } from './fuzz-request.ts';
import type { ValidsByRoute } from './fuzzer.ts';

/** Sends what should succeed, and returns its answer. */
export type Succeed = (route: string, valid: Valid) => Promise<unknown>;

const WALLETS = 8;

/** Requests that succeed on the routes of a login method. */
export type LoginRequests = (account: AccountUnderFuzzing, succeed: Succeed) => ValidsByRoute;

let made = 0;
const another = () => (made += 1);

export const walletRequests: LoginRequests = (account, succeed) => {
  const { byApp: caller } = account;
  const wallets = Array.from({ length: WALLETS }, () => account.newWallet());
  return {
    walletChallenge: {
      next: () => {
        const signer = wallets[another() % WALLETS]?.address ?? '';
        return Promise.resolve({ caller, query: { signer, chainId: '2484' } });
      },
    },
    logInWithWallet: { once: true, next: () => walletLogin(account, succeed, wallets[another() % WALLETS]) },
  };
};

export const emailRequests: LoginRequests = (account, succeed) => {
  const { byApp: caller } = account;
  return {
    requestEmailPassword: {
      next: () => Promise.resolve({ caller, body: { email: `asks${String(another())}@mail.example` } }),
    },
    logInWithEmail: {
      once: true,
      next: async () => {
        const email = `Ada.${String(another())}@mail.example`;
        await succeed('requestEmailPassword', { caller, body: { email } });
        return { caller, body: { email, otp: await newestPassword(account.service.url, email) } };
      },
    },
  };
};

export const messengerRequests: LoginRequests = (account, succeed) => {
  const { byApp: caller } = account;
  return {
    requestMessengerPassword: {
      next: () => Promise.resolve({ caller, body: { messengerId: String(1_000_000 + another()) } }),
    },
    logInWithMessenger: {
      once: true,
      next: async () => {
        const messengerId = String(2_000_000 + another());
        await succeed('requestMessengerPassword', { caller, body: { messengerId } });
        const { text } = await messageTo(account, messengerId);
        const profile = { username: 'ada', avatarUrl: 'https://shop.example/ada.png' };
        return { caller, body: { messengerId, otp: passwordIn(text), ...profile } };
      },
    },
  };
};

/** Returns the newest message that the bot sent to somebody. */
export const messageTo = ({ bot }: AccountUnderFuzzing, messengerId: string) =>
  eventually(
    () => bot.sent.findLast((message) => message.messengerId === messengerId),
    60_000,
    `the messenger must be given a message to ${messengerId}`,
  );

export interface Wallet {
  address: string;
  signMessageSync: (text: string) => string;
}

/** The login of a wallet that has signed its challenge. */
export const walletLogin = async (
  { byApp: caller }: AccountUnderFuzzing,
  succeed: Succeed,
  wallet: Wallet | undefined,
): Promise<Valid> => {
  if (!wallet) throw new Error('there is no such wallet');
  const signer = wallet.address;
  const { message } = (await succeed('walletChallenge', { caller, query: { signer } })) as Challenge;
  return { caller, body: { signer, signature: wallet.signMessageSync(message) } };
};
