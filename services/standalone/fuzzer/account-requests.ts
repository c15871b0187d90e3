import type { Session } from '../../../schemas/http/account/session.ts';
import { walletIdentity } from '../../account/users/domain/identity.ts';
import type { AccountUnderFuzzing } from './account-under-fuzzing.ts';
import type { Caller, Valid } from './fuzz-request.ts';
import type { ValidsByRoute } from './fuzzer.ts';
import { loginRequests } from './login-requests.ts';
import { messengerUserLogin } from './logins-elsewhere-requests.ts';
import { walletLogin, type Succeed, type Wallet } from './logins-here-requests.ts';
import { onchainRequests } from './onchain-requests.ts';

const bearer =
  ({ accessToken }: Session): Caller =>
  () => ({ authorization: `Bearer ${accessToken}` });

const sessionIdOf = ({ accessToken }: Session): string => {
  const claims = Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString();
  return (JSON.parse(claims) as { sid: string }).sid;
};

/** Requests that succeed on the routes of the account service. */
export const accountRequests = async (account: AccountUnderFuzzing, succeed: Succeed): Promise<ValidsByRoute> => {
  let people = 6_000_000;
  const logIn = async (messengerId = String((people += 1))): Promise<Session> =>
    (await succeed('logInMessengerUser', messengerUserLogin(account, messengerId))) as Session;
  /** The same user a second time. */
  const logInTwice = async (): Promise<[first: Session, second: Session]> => {
    const messengerId = String((people += 1));
    return [await logIn(messengerId), await logIn(messengerId)];
  };
  const ownUser = ({ userId: id, ...session }: Session) => ({
    caller: bearer({ userId: id, ...session }),
    params: { id },
  });
  const profile = {
    username: 'ada',
    firstname: ' Ada ',
    lastname: null,
    signature: '',
    avatar: 'https://shop.example/a',
  };
  const messenger = {
    messengerId: '7000000',
    messengerUsername: 'ada',
    messengerVerified: true,
    messengerAuthDate: null,
  };

  const reader = await logIn();
  const reading = ownUser(reader);
  await succeed('updateProfile', { ...reading, body: profile });
  await succeed('updateMessenger', { ...reading, body: messenger });
  const writing = ownUser(await logIn());
  const linking = { session: await logIn(), wallet: account.newWallet() };
  const onchain = await onchainRequests(account, { userId: reader.userId, caller: bearer(reader) }, succeed);
  await account.caughtUp();

  return {
    ...loginRequests(account, succeed),
    ...onchain,
    issueAppToken: { next: () => Promise.resolve({ caller: account.byServer }) },
    refreshSession: {
      once: true,
      next: async () => ({ body: { refreshToken: (await logIn()).refreshToken } }),
    },
    listSessions: { next: () => Promise.resolve({ caller: bearer(reader) }) },
    endSession: {
      once: true,
      next: async () => {
        const [own, other] = await logInTwice();
        return { caller: bearer(own), params: { id: sessionIdOf(other) } };
      },
    },
    endOtherSessions: { next: async () => ({ caller: bearer((await logInTwice())[0]) }) },
    logOut: { once: true, next: async () => ({ caller: bearer(await logIn()) }) },
    getUser: { next: () => Promise.resolve(reading) },
    findByMessenger: {
      next: () => Promise.resolve({ caller: bearer(reader), params: { messengerId: messenger.messengerId } }),
    },
    readHistory: { next: () => Promise.resolve({ ...reading, query: { take: '2', type: 'ProfileUpdated' } }) },
    readPersonalData: { next: () => Promise.resolve(reading) },
    exportHistory: { next: () => Promise.resolve(reading) },
    logCheckpoint: { next: () => Promise.resolve({}) },
    logTile: { next: () => Promise.resolve({ params: { level: '0', index: 'raw:000.p/1' } }) },
    logKey: { next: () => Promise.resolve({}) },
    updateProfile: { next: () => Promise.resolve({ ...writing, body: profile }) },
    updateMessenger: { next: () => Promise.resolve({ ...writing, body: messenger }) },
    unlinkIdentity: { once: true, next: () => unlinking(account, succeed, linking) },
    eraseUser: { once: true, next: async () => ownUser(await logIn()) },
  };
};

/** Links a wallet, to be unlinked. */
const unlinking = async (
  account: AccountUnderFuzzing,
  succeed: Succeed,
  { session, wallet }: { session: Session; wallet: Wallet },
): Promise<Valid> => {
  const login = await walletLogin(account, succeed, wallet);
  const caller: Caller = (sent) => ({ ...login.caller?.(sent), ...bearer(session)(sent) });
  await succeed('logInWithWallet', { ...login, caller });
  const { identityId } = walletIdentity(wallet.address);
  return { caller: bearer(session), params: { id: session.userId, identityId } };
};
