import type { accountRoutes } from '../http/account/account-routes.ts';
import { appSignatureExample } from '../http/app-signature-example.ts';
import { eventExamples } from './event-examples.ts';
import type { ExamplesOf } from './http-example.ts';
import { onchainExamples } from './onchain-examples.ts';
import { personalDataExample } from './personal-data-example.ts';

const { SmartAccountAssigned, ContractRegistered, IdentityLinked, ChainPrepared, SessionStarted } = eventExamples;
const { userId, chainId, address, owner, factory, entryPoint } = SmartAccountAssigned;
const { apiKey } = appSignatureExample;

const HASH = '0123456789abcdef'.repeat(4);
const TOKEN = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIweDcwIn0.c2lnbmF0dXJl';
const [time, later] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:05:00.000Z'];
const [email, messengerId, otp] = ['ada@mail.example', '42', '012345'];

const challenge = 'MDEyMzQ1Njc4OWFiY2RlZmdoamttbnBxcnM';
const clientDataJSON = 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0';
const credential = { id: 'AAECAwQFBgcICQoLDA0ODw', rawId: 'AAECAwQFBgcICQoLDA0ODw', type: 'public-key' as const };
const nonce = '0123456789abcdefghjkmnpqrs';

const session = {
  ...{ refreshToken: 'rt_0123456789abcdefghjkmnpqrs', refreshTokenExpire: 1_769_817_600_000 },
  ...{ accessToken: TOKEN, accessTokenExpire: 1_767_226_200_000, userId },
};
const startedLogin = {
  ...{
    url: 'https://provider.example/authorize?state=0123456789abcdefghjkmnpqrs',
    state: '0123456789abcdefghjkmnpqrs',
  },
  expiresAt: later,
};
const requestedPassword = {
  ...{ sent: true as const, expiresAt: later, resendAfter: 60, token: '0123456789abcdefghjkmnpqrs' },
};
const user = {
  ...{ id: userId, username: 'Ada', firstname: null, lastname: null, avatar: null, signature: null },
  ...{ messengerId, messengerUsername: 'ada', messengerFirstName: null, messengerLastName: null },
  ...{ messengerAvatarUrl: null, messengerAuthDate: time, messengerVerified: true },
  identities: [{ id: IdentityLinked.identityId, method: 'wallet' as const, label: owner, linkedAt: time }],
  smartAccounts: [{ chainId, address, owner, factory, entryPoint, deployed: false }],
  ...{ createdAt: time, updatedAt: later, revision: 4 },
};
const event = {
  ...{ type: 'ProfileUpdated', time: later, actor: { type: 'user' as const, id: userId } },
  ...{
    app: SessionStarted.appId,
    session: SessionStarted.sessionId,
    requestId: '5f0c9a52-3a37-4a3b-9f3e-3d5c1c1a2b10',
  },
};
const changes = { changes: { username: 'Ada' } };
const checkpoint =
  'account.example/log\n5271\nXa2e8xGcBHWYlIdVXsJ2wRT0rfGZ0nQwTLMcKBmF0Yk=\n\n— account.example/log L6XCsw…\n';
const issuer = {
  ...{ issuer: 'https://account.example', jwks_uri: 'https://account.example/.well-known/jwks.json' },
  id_token_signing_alg_values_supported: ['ES256' as const],
  subject_types_supported: ['public' as const],
  response_types_supported: [],
};

/** For the OpenAPI document of the account service. */
export const accountExamples: ExamplesOf<typeof accountRoutes> = {
  ...onchainExamples,
  walletChallenge: {
    answer: {
      message: `shop.example wants you to sign in with your Ethereum account:\n${owner}\n\n…`,
      ...{ nonce, expiresAt: later },
    },
  },
  logInWithWallet: { body: { signature: `0x${'1'.repeat(130)}`, signer: owner, nonce }, answer: session },
  startBotLogin: { answer: startedLogin },
  logInWithBot: { body: { state: startedLogin.state, code: 'kmnpqrs0123456789abcdefghj' }, answer: session },
  hearBot: {
    body: {
      message: { text: '/start 0123456789abcdefghjkmnpqrs', chat: { id: 42, type: 'private' }, from: { id: 42 } },
    },
    answer: {},
  },
  logInMessengerUser: {
    body: {
      ...{ messengerId, username: 'ada', firstname: 'Ada', lastname: '', domainId: 1 },
      ...{ sig: `0x${'1'.repeat(130)}`, timestamp: 1_767_225_600_000, apiKey },
    },
    answer: session,
  },
  startOAuthLogin: { answer: startedLogin },
  logInWithOAuth: { body: { code: 'kmnpqrs0123456789abcdefghj', state: startedLogin.state }, answer: session },
  logInWithIdToken: { body: { idToken: TOKEN, nonce: '0123456789abcdefghjkmnpqrs' }, answer: session },
  askToRegisterPasskey: {
    answer: {
      state: startedLogin.state,
      options: {
        ...{ challenge, timeout: 300_000, rp: { id: 'app.example', name: 'Example' }, attestation: 'none' },
        user: { id: 'dXNyXzAxMjM0NTY3ODlhYmNkZWZnaGprbW5wcXJz', name: 'ada', displayName: 'ada' },
        pubKeyCredParams: [-7, -257].map((alg) => ({ type: 'public-key', alg })),
        excludeCredentials: [{ type: 'public-key', id: credential.id, transports: ['internal', 'hybrid'] }],
        authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'preferred' },
      },
    },
  },
  registerPasskey: {
    body: {
      state: startedLogin.state,
      credential: { ...credential, response: { clientDataJSON, attestationObject: 'o2NmbXRkbm9uZQ' } },
    },
    answer: session,
  },
  askForPasskey: {
    answer: {
      state: startedLogin.state,
      options: {
        ...{ challenge, timeout: 300_000, rpId: 'app.example', allowCredentials: [], userVerification: 'preferred' },
      },
    },
  },
  logInWithPasskey: {
    body: {
      state: startedLogin.state,
      credential: {
        ...credential,
        response: { clientDataJSON, authenticatorData: 'SZYN5YgOjGh0NBcPZHZgW4', signature: 'MEUCIQDKg5gGjUzS' },
      },
    },
    answer: session,
  },
  requestEmailPassword: { body: { email }, answer: requestedPassword },
  logInWithEmail: { body: { email, otp, token: requestedPassword.token }, answer: session },
  requestMessengerPassword: { body: { messengerId }, answer: requestedPassword },
  logInWithMessenger: {
    body: {
      messengerId,
      otp,
      token: requestedPassword.token,
      username: 'Ada',
      avatarUrl: 'https://img.example/ada.png',
    },
    answer: session,
  },
  refreshSession: { body: { refreshToken: session.refreshToken }, answer: session },
  issueAppToken: { answer: { accessToken: TOKEN, accessTokenExpire: session.accessTokenExpire } },
  listSessions: {
    answer: {
      items: [
        {
          ...{ id: SessionStarted.sessionId, app: SessionStarted.appId, method: 'wallet', device: 'Mozilla/5.0' },
          ...{ createdAt: time, lastUsedAt: later, current: true },
        },
      ],
    },
  },
  endSession: {},
  endOtherSessions: {},
  logOut: {},
  unlinkIdentity: {},
  updateMessenger: { body: { messengerId, messengerUsername: 'ada', messengerAvatarUrl: null }, answer: user },
  findByMessenger: { answer: user },
  exportHistory: {
    answer: {
      ...event,
      ...{ data: changes, position: 42, previous: '0'.repeat(64), digest: HASH, salt: HASH.slice(32), hash: HASH },
    },
  },
  readPersonalData: { answer: personalDataExample },
  eraseUser: {},
  logCheckpoint: { answer: checkpoint },
  logTile: { answer: '(256 hashes of 32 bytes)' },
  logKey: { answer: 'account.example/log+2fa5c2b3+AZJvHZ0gQVxF0Qc1nQm0mN8T5xgOq3Jw1c2ydWmH0b4K' },
  openidConfiguration: { answer: issuer },
  authorizationServer: { answer: issuer },
  publicKeys: {
    answer: {
      keys: [
        {
          ...{ kty: 'EC', crv: 'P-256', kid: 'token-signing-0001', alg: 'ES256', use: 'sig' },
          x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
          y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
        },
      ],
    },
  },
  getUser: { answer: user },
  updateProfile: { body: { username: 'Ada', signature: null }, answer: user },
  readHistory: {
    answer: {
      items: [{ ...event, data: changes, position: 'AAAAAAAAACo', hash: HASH }],
      ...{ take: 10, next: null },
    },
  },
  status: {
    answer: {
      ...{ name: 'annals', version: '0.2.0', status: 'ok' },
      chains: [
        {
          ...{ chainId, entryPoint, accountFactory: factory, paymaster: ChainPrepared.paymaster, bundler: 'built-in' },
          ...{
            headBlock: ContractRegistered.headBlock ?? 7,
            paymasterDeposit: '1000000000000000000',
            operationsPending: 0,
          },
        },
      ],
      loginMethods: ['wallet', 'email'],
      dependencies: { 'event store': 'up' },
    },
  },
};
