import { z } from 'zod';
import { address, addressInput, blockNumber, chainId, isoTime, loginMethod } from '../../values.ts';
import { asOf } from '../as-of.ts';
import { historyPage, historyQuery } from './history.ts';
import { identityRoutes } from './identity-routes.ts';
import { issuerRoutes } from './issuer-routes.ts';
import { logRoutes } from './log-routes.ts';
import { messengerRoutes } from './messenger-routes.ts';
import { oauthRoutes } from './oauth-routes.ts';
import { onchainRoutes } from '../onchain/onchain-routes.ts';
import { oneTimePasswordRoutes } from './one-time-password-routes.ts';
import { passkeyRoutes } from './passkey-routes.ts';
import { route } from '../route.ts';
import { rpcRoutes } from '../onchain/rpc-routes.ts';
import { sessionRoutes } from './session-routes.ts';
import { userRoutes } from './user-routes.ts';
import { session, type Session } from './session.ts';
import { profile, user, userEntity } from './user-entity.ts';

export { session, type Session };

const account = { service: 'account' } as const;
const userId = z.object({ id: z.string().min(1).max(128) });

export const challenge = z.object({
  message: z.string().describe('an ERC-4361 message for the wallet to sign'),
  nonce: z.string().describe('stands in the message; the login takes it, to say which challenge was signed'),
  expiresAt: isoTime,
});
export type Challenge = z.infer<typeof challenge>;

const publicKey = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  kid: z.string(),
  alg: z.literal('ES256'),
  use: z.literal('sig'),
});
export const publicKeys = z.object({ keys: z.array(publicKey) });
export type PublicKeys = z.infer<typeof publicKeys>;

const dependencyState = z.enum(['up', 'down']);
export const accountStatus = z.object({
  name: z.string(),
  version: z.string(),
  status: z.enum(['ok', 'degraded']),
  chains: z.array(
    z.object({
      chainId,
      entryPoint: address,
      accountFactory: address,
      paymaster: address.nullable().describe('null until the chain is prepared'),
      bundler: z.string().describe('built-in, or the host of the first of those that bundle instead'),
      headBlock: blockNumber.nullable(),
      paymasterDeposit: z.string().nullable().describe('in wei; null while the chain does not answer'),
      operationsPending: z
        .int()
        .nonnegative()
        .nullable()
        .describe('accepted, and in no block yet; null while not known'),
    }),
  ),
  loginMethods: z.array(loginMethod),
  dependencies: z.record(z.string(), dependencyState),
});
export type AccountStatus = z.infer<typeof accountStatus>;

/** Every route of the account service. */
export const accountRoutes = {
  ...messengerRoutes,
  ...oauthRoutes,
  ...passkeyRoutes,
  walletChallenge: route({
    ...account,
    method: 'GET',
    path: '/auth/web3/challenge',
    summary: 'Create the message that a wallet signs to log in',
    auth: 'app',
    rateLimit: 'login',
    query: z.object({ signer: addressInput, chainId: z.coerce.number().pipe(chainId).default(2484) }),
    status: 200,
    answer: challenge,
    problems: [],
  }),
  logInWithWallet: route({
    ...account,
    method: 'POST',
    path: '/auth/web3',
    summary: 'Log in with a signed challenge',
    auth: 'app',
    rateLimit: 'login',
    command: true,
    identifiedBy: 'signer',
    body: z.object({
      signature: z
        .string()
        .describe('0x and hex digits: 65 bytes of a key, or 0 to 65,536 bytes that a contract wallet accepts'),
      signer: addressInput,
      nonce: z
        .string()
        .exactOptional()
        .describe(
          'of the challenge that was signed: no other one is looked at. A contract wallet needs it where the login comes from another address of the network than the request for the challenge',
        ),
    }),
    status: 201,
    answer: session,
    problems: [
      'challenge_unknown',
      'wallet_signature_invalid',
      'session_revoked',
      'forbidden',
      'login_too_old',
      'identity_taken',
      'user_erased',
      'chain_not_supported',
    ],
  }),
  ...oneTimePasswordRoutes,
  refreshSession: route({
    ...account,
    method: 'POST',
    path: '/auth/refresh',
    summary: 'Exchange a refresh token for its successor',
    auth: 'none',
    rateLimit: 'refresh',
    command: true,
    refreshKey: true,
    body: z.object({ refreshToken: z.string() }),
    status: 201,
    answer: session,
    problems: ['refresh_token_invalid', 'refresh_token_reused', 'session_revoked', 'app_revoked'],
  }),
  ...sessionRoutes,
  ...identityRoutes,
  ...userRoutes,
  ...onchainRoutes,
  ...rpcRoutes,
  ...issuerRoutes,
  ...logRoutes,
  publicKeys: route({
    ...account,
    method: 'GET',
    path: '/.well-known/jwks.json',
    summary: 'The keys that verify tokens',
    auth: 'none',
    status: 200,
    answer: publicKeys,
    problems: [],
  }),
  getUser: route({
    ...account,
    method: 'GET',
    path: '/user/{id}',
    summary: 'A user: the own user whole, four members of any other',
    auth: 'bearer',
    params: userId,
    query: z.object({ asOf: asOf.describe(`${asOf.description ?? ''}; others are answered as they are now`) }),
    status: 200,
    answer: user,
    problems: ['user_not_found', 'user_erased', 'not_caught_up'],
  }),
  updateProfile: route({
    ...account,
    method: 'POST',
    path: '/user/{id}/profile',
    summary: 'Change members of the own profile',
    auth: 'bearer',
    command: true,
    params: userId,
    body: profile,
    status: 200,
    answer: userEntity,
    problems: ['forbidden', 'user_not_found', 'user_erased'],
  }),
  readHistory: route({
    ...account,
    method: 'GET',
    path: '/user/{id}/history',
    summary: 'The history of the own account, in the order in which events were stored',
    auth: 'bearer',
    params: userId,
    query: historyQuery,
    status: 200,
    answer: historyPage,
    problems: ['forbidden', 'user_not_found', 'cursor_invalid', 'not_caught_up'],
  }),
  status: route({
    ...account,
    method: 'GET',
    path: '/universal-account',
    summary: 'The version of the service and the state of its parts',
    auth: 'none',
    status: 200,
    answer: accountStatus,
    problems: [],
  }),
};
