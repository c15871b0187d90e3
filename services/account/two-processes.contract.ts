import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Wallet } from 'ethers';
import { decodeJwt } from 'jose';
import { identityStream } from '../../schemas/events/account/identity-events.ts';
import { sessionStream } from '../../schemas/events/account/session-events.ts';
import { userStream } from '../../schemas/events/account/user-events.ts';
import type { Session } from '../../schemas/http/account/session.ts';
import type { ProblemCode } from '../../schemas/http/problem.ts';
import { LOCAL_FUNDER_KEY } from '../../shared/local-chain/development-token.ethers.ts';
import { AnnalsError, createClient, type AnnalsClient, type SignedRequest } from '../../shared/client/annals-client.ts';
import { Transactor } from '../../shared/event-store/transactions/transact.ts';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import { systemClock } from '../../shared/primitives/clock.ts';
import { Anvil } from '../../shared/testing/chain/anvil.ts';
import { atOnce } from '../../shared/testing/at-once.ts';
import { eventually } from '../../shared/testing/eventually.ts';
import { someMetadata } from '../../shared/testing/event-builder.ts';
import { randomWallet } from '../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../shared/testing/temporary-folder.ts';
import { appAdministration } from './app-administration.ts';
import { chainAdministration } from '../onchain/chain-administration.ts';
import { walletIdentity } from './users/domain/identity.ts';
import { loginStateStream } from './login/domain/login-state.ts';
import {
  issueOneTimePassword,
  oneTimePasswordFold,
  oneTimePasswordsKept,
  oneTimePasswordStream,
} from './login/domain/one-time-password.ts';
import { PREVIOUS_TOKEN_MS } from './sessions/domain/session.ts';
import { IdentityIds } from './login/identity-ids.ts';
import { BotApi } from './testing/bot-api.ts';
import { HostileProvider } from './testing/hostile-provider.jose.ts';
import { newestPassword, wrong } from './testing/one-time-passwords.ts';
import { twoProcessesSendsContract } from './two-processes-sends.contract.ts';

const ETHER = 10n ** 18n;
const FUNDS = { funderKey: LOCAL_FUNDER_KEY, depositWei: 10n * ETHER, executors: 3, executorWei: 10n * ETHER };
const REGISTERED = ['UserRegistered', 'SmartAccountAssigned', 'IdentityLinked', 'UserLoggedIn'];

const ORIGIN = 'https://app.example';
const REDIRECT_URI = `${ORIGIN}/callback`;
/** Longer than a command goes on after its request was answered. */
const STORED_WITHIN_MS = 30_000;
/** A signer has no more open challenges at an app. */
const CHALLENGES_OPEN = 10;
const appToRegister = { name: 'Example', origins: [ORIGIN], redirectUris: [REDIRECT_URI], scheme: 'v1' as const };

/** Scheme `v1` does not say what is asked, so one signature is enough for each second of requests. */
const inSeconds = { ...systemClock, now: () => Math.floor(systemClock.now() / 1_000) * 1_000 };

export interface TwoProcesses {
  urls: readonly [string, string];
  /** Some engines with their data: apps are registered there, and what is stored is read there. */
  foundations: readonly [Foundation & WithKeyVault, ...(Foundation & WithKeyVault)[]];
  stop: () => Promise<void>;
}

/** How many requests arrive at once, half of them at each process. */
interface RequestsAtOnce {
  redemptions: number;
  refreshes: number;
  /** A multiple of ten. */
  firstLogins: number;
}

/** What two account processes that share all engines and `DATA_DIR` must do, whatever the engines are. */
export const twoProcessesContract = (
  start: (settings: Record<string, string>) => Promise<TwoProcesses>,
  { redemptions, refreshes, firstLogins }: RequestsAtOnce,
): void => {
  const bot = new BotApi();
  const provider = new HostileProvider('annals');
  const folder = temporaryFolder();
  let anvil: Anvil;
  let processes: TwoProcesses;
  let foundation: TwoProcesses['foundations'][0];
  let identityIds: IdentityIds;
  let clients: readonly [AnnalsClient, AnnalsClient];
  const clientAt = (at: number) => clients[at % 2 === 0 ? 0 : 1];

  /** Registers an app, and returns a client of it at each process. */
  const clientsOfApp = async (): Promise<readonly [AnnalsClient, AnnalsClient]> => {
    const { apiKey, signingKey } = await appAdministration(foundation).register(appToRegister);
    const signer = new Wallet(signingKey);
    const signatures = new Map<string, Promise<string>>();
    const signRequest = ({ text }: SignedRequest) => {
      const signature = signatures.get(text) ?? signer.signMessage(text);
      signatures.set(text, signature);
      return signature;
    };
    const app = { apiKey, origin: ORIGIN, signRequest, scheme: 'v1' as const, repeats: 0, clock: inSeconds };
    const clientOf = (url: string) => createClient({ accountUrl: url, eventUrl: url, streamUrl: url, ...app });
    return [clientOf(processes.urls[0]), clientOf(processes.urls[1])];
  };

  beforeAll(async () => {
    await Promise.all([bot.start(), provider.start()]);
    anvil = await Anvil.start(join(folder, 'chain'));
    const CHAINS = JSON.stringify([{ chainId: Anvil.chainId, rpcUrls: [anvil.rpcUrl] }]);
    const oauth = { issuer: provider.issuer, clientId: provider.clientId, clientSecret: 'a secret' };
    processes = await start({ ...bot.settings, CHAINS, OAUTH_A: JSON.stringify(oauth) });
    [foundation] = processes.foundations;
    for (const chain of foundation.settings.CHAINS ?? []) await chainAdministration(foundation).prepare(chain, FUNDS);
    identityIds = new IdentityIds(await personalDataOf(foundation).keys.identitiesKey());
    clients = await clientsOfApp();
  });
  afterAll(async () => {
    await Promise.all([bot.stop(), provider.stop()]);
    await processes.stop();
    await anvil.stop();
  });

  twoProcessesSendsContract(() => ({ anvil, foundation, clients: clientsOfApp }));

  const eventsOf = (stream: string) => foundation.eventStore.read(stream);
  const typesOf = async (stream: string) => (await eventsOf(stream)).map(({ type }) => type);

  /** The answers to many requests, and the codes of those that were refused. */
  const answersOf = async <Answer>(count: number, send: (at: number) => Promise<Answer>) => {
    const answers: Answer[] = [];
    const codes = new Set<string>();
    await atOnce(count, async (at) => {
      try {
        answers.push(await send(at));
      } catch (error) {
        if (!(error instanceof AnnalsError)) throw error;
        codes.add(error.code);
      }
    });
    return { answers, codes: [...codes] };
  };
  /** Whoever waits too long on a slow machine is told so, and may not be told anything else that is not expected. */
  const expectOnly = (codes: readonly string[], ...expected: ProblemCode[]) => {
    expect(['dependency_unavailable', ...expected]).toEqual(expect.arrayContaining([...codes]));
  };

  /** Expects one user of a new identity, with one login and its session, however the requests were answered. */
  const expectOneLogin = async (identityId: string): Promise<void> => {
    const claimed = await eventually(
      async () => (await eventsOf(identityStream(identityId)))[0],
      STORED_WITHIN_MS,
      'somebody must have logged in',
    );
    const user = userStream(claimed.data['userId'] as string);
    const login = await eventually(
      async () => (await eventsOf(user)).find(({ type }) => type === 'UserLoggedIn'),
      STORED_WITHIN_MS,
      'the login must be recorded',
    );
    const session = sessionStream(login.data['sessionId'] as string);
    await eventually(async () => (await typesOf(session)).length > 0, STORED_WITHIN_MS, 'the session must start');
    expect(await typesOf(identityStream(identityId))).toEqual(['IdentityClaimed']);
    expect(await typesOf(user)).toEqual(REGISTERED);
    expect(await typesOf(session)).toEqual(['SessionStarted']);
  };

  /** Expects that of all who redeem the same at once one logs in, as a new user. */
  const expectOneRedemption = async (
    identityId: string,
    redeem: (client: AnnalsClient) => Promise<Session>,
    refusal: ProblemCode,
  ): Promise<void> => {
    const { answers, codes } = await answersOf(redemptions, (at) => redeem(clientAt(at)));
    // Completes the login of whoever was not told.
    const last = await answersOf(1, () => redeem(clients[1]));
    expect(answers.length + last.answers.length).toBeLessThanOrEqual(1);
    expectOnly([...codes, ...last.codes], refusal);
    await expectOneLogin(identityId);
  };

  it('redeem a challenge once', async () => {
    const wallet = randomWallet();
    const signer = wallet.address;
    const { message } = await clients[0].routes.walletChallenge({ query: { signer } });
    const body = { signer, signature: wallet.signMessageSync(message) };
    await expectOneRedemption(
      walletIdentity(signer).identityId,
      (client) => client.routes.logInWithWallet({ body }),
      'challenge_unknown',
    );
  });

  it('redeem a one-time password once', async () => {
    const email = 'redeemed@mail.example';
    await clients[0].routes.requestEmailPassword({ body: { email } });
    const body = { email, otp: await newestPassword(processes.urls[0], email) };
    const identityId = identityIds.keyedIdentity('email', email);
    await expectOneRedemption(identityId, (client) => client.routes.logInWithEmail({ body }), 'otp_invalid');
    const types = await typesOf(oneTimePasswordStream(identityId));
    expect(types.filter((type) => type === 'OtpVerified')).toHaveLength(1);
  });

  it('redeem the state of a login at a provider once', async () => {
    const params = { provider: 'oauth-a' };
    const { url, state } = await clients[0].routes.startOAuthLogin({ params });
    const body = { state, code: provider.codeFor(url) };
    await expectOneRedemption(
      identityIds.providerIdentity({ issuer: provider.issuer, subject: 'mallory' }),
      (client) => client.routes.logInWithOAuth({ params, body }),
      'state_unknown',
    );
    const types = await typesOf(loginStateStream(state));
    expect(types.filter((type) => type === 'LoginRedeemed')).toHaveLength(1);
    // Another one exchanges it only where the first has no outcome for a while.
    const received = types.filter((type) => type === 'LoginCodeReceived');
    expect(provider.exchanged.length).toBeLessThanOrEqual(received.length);
  });

  it('give the code of a bot login to one of two people who press start at once, and redeem its state once', async () => {
    const { state } = await clients[0].routes.startBotLogin();
    const tell = (at: 0 | 1, id: number) =>
      fetch(`${processes.urls[at]}/auth/messenger/webhook`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-telegram-bot-api-secret-token': bot.settings.MESSENGER_WEBHOOK_SECRET,
        },
        body: JSON.stringify({
          message: { text: `/start ${state}`, chat: { id, type: 'private' }, from: { id, is_bot: false } },
        }),
      });
    await Promise.all([tell(0, 1), tell(1, 2), tell(0, 2), tell(1, 1)]);
    expect((await typesOf(loginStateStream(state))).toSorted()).toEqual(['LoginCodeIssued', 'LoginStarted']);
    // The messenger tells it again where it had no answer.
    await Promise.all([tell(0, 1), tell(1, 2)]);
    // The other person is told to begin again.
    const withCode = bot.sent.filter(({ button }) => button !== undefined);
    expect(new Set(withCode.map(({ button }) => button?.url)).size).toBe(1);
    expect(new Set(withCode.map(({ messengerId }) => messengerId)).size).toBe(1);
    const [message] = withCode;
    const code = new URL(message?.button?.url ?? '').searchParams.get('code') ?? '';
    await expectOneRedemption(
      identityIds.keyedIdentity('messenger', message?.messengerId ?? ''),
      (client) => client.routes.logInWithBot({ body: { state, code } }),
      'state_unknown',
    );
    const types = await typesOf(loginStateStream(state));
    expect(types).toEqual(['LoginStarted', 'LoginCodeIssued', 'LoginRedeemed']);
  });

  it('give a refresh token one successor', async () => {
    const { refreshToken } = await clients[0].login.wallet(randomWallet());
    const began = performance.now();
    const { answers, codes } = await answersOf(refreshes, (at) =>
      clientAt(at).routes.refreshSession({ body: { refreshToken } }),
    );
    const isSlow = performance.now() - began >= PREVIOUS_TOKEN_MS;
    expectOnly(codes, ...(isSlow ? (['refresh_token_reused', 'session_revoked'] as const) : []));
    const successors = new Set(answers.map((session) => decodeJwt(session.refreshToken).jti));
    expect(successors.size).toBeLessThanOrEqual(1);
    const types = await typesOf(sessionStream(String(decodeJwt(refreshToken)['sid'])));
    expect(types.filter((type) => type === 'SessionRefreshed')).toHaveLength(1);
    expect(types.includes('SessionRevoked')).toBe(codes.includes('refresh_token_reused'));
  });

  it('make one user of many first logins at once', async () => {
    const newcomer = randomWallet();
    const signer = newcomer.address;
    const logins: (() => Promise<Session>)[] = [];
    for (let app = 0; app < firstLogins / CHALLENGES_OPEN; app += 1) {
      const client = (await clientsOfApp())[app % 2 === 0 ? 0 : 1];
      for (let at = 0; at < CHALLENGES_OPEN; at += 1) {
        const { message } = await client.routes.walletChallenge({ query: { signer } });
        const body = { signer, signature: newcomer.signMessageSync(message) };
        logins.push(() => client.routes.logInWithWallet({ body }));
      }
    }
    const { answers, codes } = await answersOf(
      firstLogins,
      (at) => logins[at]?.() ?? Promise.reject(new Error('none')),
    );
    expectOnly(codes);
    const userId = signer.toLowerCase();
    expect([userId]).toEqual(expect.arrayContaining([...new Set(answers.map((session) => session.userId))]));
    expect(await typesOf(identityStream(walletIdentity(signer).identityId))).toEqual(['IdentityClaimed']);
    const types = await typesOf(userStream(userId));
    expect(types.slice(0, REGISTERED.length)).toEqual(REGISTERED);
    expect(new Set(types.slice(REGISTERED.length))).toEqual(new Set(['UserLoggedIn']));
  });

  it('evaluate five of 200 parallel guesses of a one-time password', async () => {
    const email = 'guessed@mail.example';
    await clients[0].routes.requestEmailPassword({ body: { email } });
    const otp = await newestPassword(processes.urls[0], email);
    const guess = (password: string, at: number) =>
      clientAt(at).routes.logInWithEmail({ body: { email, otp: password } });
    const { answers, codes } = await answersOf(200, (at) => guess(wrong(otp, at + 1), at));
    expect(answers).toEqual([]);
    expectOnly(codes, 'otp_invalid');
    const types = await typesOf(oneTimePasswordStream(identityIds.keyedIdentity('email', email)));
    expect(types).toEqual(['OtpIssued', ...Array<string>(5).fill('OtpGuessed')]);
    expect(await answersOf(1, () => guess(otp, 0))).toEqual({ answers: [], codes: ['otp_invalid'] });
  });

  it('send as many one-time passwords a day as one process does', async () => {
    const email = 'counted@mail.example';
    const limits = [{ name: 'otpRequestDay', points: 3, seconds: 86_400 }] as const;
    const issue = (at: number) => {
      const { foundations } = processes;
      const one = foundations[at % foundations.length] ?? foundation;
      return new Transactor(one.eventStore, one.clock, one.ids, personalDataOf(one)).transact({
        stream: oneTimePasswordStream(email),
        fold: oneTimePasswordFold,
        metadata: someMetadata,
        keep: oneTimePasswordsKept,
        decide: (state, nowMs) =>
          issueOneTimePassword(state, nowMs, {
            otpId: String(at),
            appId: 'app_1',
            passwordHash: '',
            capitals: [],
            ...{ limits, all: undefined },
          }),
      });
    };
    await Promise.allSettled(Array.from({ length: 20 }, (_, at) => issue(at)));
    expect(await typesOf(oneTimePasswordStream(email))).toEqual(Array<string>(3).fill('OtpIssued'));
  });

  it('carry out a repeated login once', async () => {
    const wallet = randomWallet();
    const signer = wallet.address;
    const { message } = await clients[0].routes.walletChallenge({ query: { signer } });
    const body = { signer, signature: wallet.signMessageSync(message) };
    const { answers, codes } = await answersOf(10, (at) =>
      clientAt(at).routes.logInWithWallet({ body, idempotencyKey: 'the-same' }),
    );
    expectOnly(codes);
    expect(new Set(answers.map(({ refreshToken }) => refreshToken)).size).toBeLessThanOrEqual(1);
    await expectOneLogin(walletIdentity(signer).identityId);
  });

  describe('a session of one', () => {
    const wallet = randomWallet();
    let session: Session;
    const change = () =>
      fetch(`${processes.urls[1]}/user/${session.userId}/profile`, {
        method: 'POST',
        headers: { authorization: `Bearer ${session.accessToken}`, 'content-type': 'application/json' },
        body: '{"username":"ada"}',
      });

    it('is accepted by the other', async () => {
      session = await clients[0].login.wallet(wallet);
      expect((await change()).status).toBe(200);
    });

    it('is refused by the other after its logout', async () => {
      await clients[0].routes.logOut();
      await eventually(async () => (await change()).status === 401, 2_000, 'the other process must refuse the token');
    });
  });
};
