import { eventCatalogue, type EventType } from '../events/catalogue.ts';
import type { EventDefinition, EventOf } from '../events/event.ts';

type Example = { [Type in EventType]: Extract<EventOf<typeof eventCatalogue>, { type: Type }>['data'] };

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const wallet = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const token = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const identityId = 'c0ffee'.padEnd(64, '0');
const observed = {
  Id: `2484:${hash('b')}:${hash('c')}:0`,
  WatchId: 'wch_0123456789abcdefghjkmnpqrs',
  ChainId: 2484,
  ContractAddress: token,
  EventName: 'Transfer',
  EventSignature: 'Transfer(address indexed,address indexed,uint256)',
  BlockNumber: 7,
  BlockHash: hash('b'),
  BlockTime: '2026-01-01T00:00:00.000Z',
  TxHash: hash('c'),
  TxIndex: 0,
  LogIndex: 0,
  Data: { from: wallet, to: token, value: '1000000000000000000' },
  Origin: 'live' as const,
};

const transaction = {
  transactionId: 'tx_0123456789abcdefghjkmnpqrs',
  userId: wallet.toLowerCase(),
  appId: 'app_0123456789abcdefghjkmnpqrs',
  chainId: 2484,
  sender: '0x1234567890AbcdEF1234567890aBcdef12345678',
  nonce: '36893488147419103232',
  userOpHash: hash('d'),
};
const inclusion = {
  transactionHash: hash('c'),
  blockNumber: 7,
  blockHash: hash('b'),
  logIndex: 3,
  actualGasCostWei: '180000000000000',
  actualGasUsed: '180000',
  deployed: true,
};
const sponsored = {
  appId: transaction.appId,
  userOpHash: transaction.userOpHash,
  chainId: 2484,
  sender: transaction.sender,
  nonce: transaction.nonce,
};
const bundle = { chainId: 2484, executor: wallet, nonce: 4, transactionHash: hash('c') };
const signedBundle = {
  ...bundle,
  operations: [transaction.transactionId],
  gasLimit: '400000',
  maxFeePerGas: '2000000000',
  maxPriorityFeePerGas: '1000000000',
};

/** One valid event of every type, for documents and tests. */
export const eventExamples: Example = {
  AppRegistered: {
    appId: 'app_0123456789abcdefghjkmnpqrs',
    name: 'Example',
    apiKey: 'ak_0123456789abcdefghjkmnpqrstvwxyz',
    signer: wallet,
    origins: ['https://app.example'],
    redirectUris: ['https://app.example/callback'],
    scheme: 'v1',
  },
  AppKeyRotated: { appId: 'app_0123456789abcdefghjkmnpqrs', signer: wallet },
  AppOriginAllowed: { appId: 'app_0123456789abcdefghjkmnpqrs', origin: 'https://shop.example' },
  AppRedirectAllowed: { appId: 'app_0123456789abcdefghjkmnpqrs', redirectUri: 'https://shop.example/callback' },
  AppBotAllowed: { appId: 'app_0123456789abcdefghjkmnpqrs' },
  AppPolicyChanged: {
    appId: 'app_0123456789abcdefghjkmnpqrs',
    chainId: 2484,
    policy: {
      dayWei: '1000000000000000000',
      userDayWei: '100000000000000000',
      operationWei: null,
      allow: [{ target: token, selectors: ['0xa9059cbb'] }],
      anySession: false,
    },
  },
  AppRevoked: { appId: 'app_0123456789abcdefghjkmnpqrs' },
  IdentityClaimed: { identityId, userId: wallet.toLowerCase(), method: 'wallet', label: wallet },
  IdentityReleased: { identityId, userId: wallet.toLowerCase() },
  UserRegistered: { userId: wallet.toLowerCase() },
  IdentityLinked: { userId: wallet.toLowerCase(), identityId, method: 'wallet', label: wallet },
  IdentityUnlinked: { userId: wallet.toLowerCase(), identityId, method: 'wallet', claim: 1 },
  MessengerUpdated: {
    userId: wallet.toLowerCase(),
    changes: { messengerId: '42', messengerUsername: 'ada', messengerVerified: false },
  },
  SmartAccountAssigned: {
    userId: wallet.toLowerCase(),
    chainId: 2484,
    address: '0x1234567890AbcdEF1234567890aBcdef12345678',
    owner: wallet,
    factory: '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985',
    entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
  },
  UserErased: { userId: wallet.toLowerCase() },
  UserLoggedIn: {
    userId: wallet.toLowerCase(),
    identityId,
    method: 'wallet',
    appId: 'app_0123456789abcdefghjkmnpqrs',
    sessionId: 'ses_0123456789abcdefghjkmnpqrs',
  },
  ProfileUpdated: { userId: wallet.toLowerCase(), changes: { username: 'ada', signature: null } },
  SessionStarted: {
    sessionId: 'ses_0123456789abcdefghjkmnpqrs',
    userId: wallet.toLowerCase(),
    appId: 'app_0123456789abcdefghjkmnpqrs',
    method: 'wallet',
    device: null,
    accessTokenId: 'a1',
    refreshTokenId: 'r1',
  },
  SessionRefreshed: {
    sessionId: 'ses_0123456789abcdefghjkmnpqrs',
    counter: 1,
    accessTokenId: 'a2',
    refreshTokenId: 'r2',
  },
  SessionRevoked: {
    sessionId: 'ses_0123456789abcdefghjkmnpqrs',
    userId: wallet.toLowerCase(),
    reason: 'refresh_token_reused',
  },
  ChallengeIssued: {
    nonce: '0123456789abcdefghjkmnpqrs',
    appId: 'app_0123456789abcdefghjkmnpqrs',
    signer: wallet,
    origin: 'https://app.example',
    chainId: 2484,
    issuedAt: '2026-01-01T00:00:00.000Z',
    expiresAt: '2026-01-01T00:05:00.000Z',
  },
  ChallengeRedeemed: { nonce: '0123456789abcdefghjkmnpqrs', sessionId: 'ses_0123456789abcdefghjkmnpqrs' },
  LoginStarted: {
    method: 'oauth-a',
    appId: 'app_0123456789abcdefghjkmnpqrs',
    origin: 'https://app.example',
    redirectUri: 'https://app.example/callback',
    sealedSecrets: 'c2VhbGVk',
    expiresAt: '2026-01-01T00:10:00.000Z',
  },
  LoginCodeReceived: { codeHash: identityId },
  LoginCodeReturned: { codeHash: identityId },
  LoginCodeIssued: { codeHash: identityId, identityId, sealedLabel: 'c2VhbGVk' },
  LoginRedeemed: {
    codeHash: identityId,
    sessionId: 'ses_0123456789abcdefghjkmnpqrs',
    identityId,
    sealedLabel: 'c2VhbGVk',
  },
  LoginRefused: { code: 'oauth_denied' },
  OtpIssued: {
    otpId: '0123456789abcdefghjkmnpqrs',
    appId: 'app_0123456789abcdefghjkmnpqrs',
    passwordHash: '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g',
    capitals: [0],
    isKnown: false,
    expiresAt: '2026-01-01T00:05:00.000Z',
  },
  OtpGuessed: { otpId: '0123456789abcdefghjkmnpqrs' },
  OtpVerified: { otpId: '0123456789abcdefghjkmnpqrs', sessionId: 'ses_0123456789abcdefghjkmnpqrs' },
  OtpLocked: { until: '2026-01-02T00:00:00.000Z' },
  RequestReceived: { fingerprint: identityId },
  RequestAnswered: { sealedAnswer: null },
  SignatureUsed: { appId: 'app_0123456789abcdefghjkmnpqrs' },
  NonceAssigned: {
    chainId: 2484,
    sender: transaction.sender,
    nonce: transaction.nonce,
    transactionId: transaction.transactionId,
    deploys: true,
  },
  NonceReleased: {
    chainId: 2484,
    sender: transaction.sender,
    nonce: transaction.nonce,
    transactionId: transaction.transactionId,
  },
  TxSubmitted: {
    ...transaction,
    entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
    operation: {
      sender: transaction.sender,
      nonce: transaction.nonce,
      factory: '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985',
      factoryData: '0x5fbfb9cf',
      callData: '0xb61d27f6',
      callGasLimit: '60000',
      verificationGasLimit: '300000',
      preVerificationGas: '50000',
      maxFeePerGas: '2000000000',
      maxPriorityFeePerGas: '1000000000',
      paymaster: token,
      paymasterVerificationGasLimit: '60000',
      paymasterPostOpGasLimit: '1',
      paymasterData: '0x',
      signature: `0x${'1'.repeat(130)}`,
    },
    sponsor: true,
    maxCostWei: '940000000000000',
    validUntil: '2026-01-01T00:10:00.000Z',
    headBlock: 6,
    replaces: null,
  },
  TxDelayed: { ...transaction, reason: "AA21 didn't pay prefund" },
  TxIncluded: { ...transaction, ...inclusion },
  TxReverted: { ...transaction, ...inclusion, reason: '0x08c379a0' },
  TxFinalized: transaction,
  TxReorged: { ...transaction, blockHash: hash('b') },
  TxReplaced: { ...transaction, replacedBy: hash('e'), blockHash: hash('b') },
  TxDropped: { ...transaction, reason: 'the signature of the paymaster has expired' },
  SponsorshipReserved: {
    ...sponsored,
    transactionId: transaction.transactionId,
    userId: transaction.userId,
    maxCostWei: '940000000000000',
    validUntil: '2026-01-01T00:10:00.000Z',
    headBlock: 6,
  },
  SponsorshipSettled: { ...sponsored, costWei: '180000000000000', blockHash: hash('b'), blockNumber: 7 },
  SponsorshipReleased: { ...sponsored, reason: 'the signature of the paymaster has expired' },
  BundleSigned: signedBundle,
  BundleReplaced: signedBundle,
  BundleMined: { ...bundle, blockNumber: 7, blockHash: hash('b'), success: true },
  BundleReorged: { ...bundle, blockHash: hash('b') },
  BundleFinalized: bundle,
  BundlerReplaced: { chainId: 2484, executor: wallet, epoch: 2 },
  ChainPrepared: {
    entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
    accountFactory: '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985',
    paymaster: token,
    paymasterOwner: wallet,
    executors: ['0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'],
  },
  ContractRegistered: {
    watchId: 'wch_0123456789abcdefghjkmnpqrs',
    chainId: 2484,
    contractAddress: token,
    eventName: 'Transfer',
    eventSignature: observed.EventSignature,
    topic0: '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
    fragment: {
      name: 'Transfer',
      anonymous: false,
      inputs: [
        { name: 'from', type: 'address', indexed: true },
        { name: 'to', type: 'address', indexed: true },
        { name: 'value', type: 'uint256', indexed: false },
      ],
    },
    startBlock: 1,
    appId: 'app_0123456789abcdefghjkmnpqrs',
  },
  WatchExtended: { watchId: 'wch_0123456789abcdefghjkmnpqrs', chainId: 2484, contractAddress: token, startBlock: 0 },
  ChainEventObserved: observed,
  ChainEventReverted: observed,
  FollowerReplaced: { chainId: 2484 },
  ChainAdvanced: {
    chainId: 2484,
    head: 7,
    finalized: 7,
    window: [{ number: 7, hash: hash('b'), parentHash: hash('a'), timestamp: 1_767_225_600, since: 0 }],
    backfills: [],
    watchesUpTo: 0,
  },
};

/** An example as it is stored and published, with its personal members sealed. */
export const storedExample = (type: EventType): object => {
  const { personal }: EventDefinition = eventCatalogue[type];
  const kid = `data-${wallet.toLowerCase()}`;
  const sealed = (value: unknown): unknown => {
    if (typeof value === 'string') return { enc: 'MDEyMzQ1Njc4OWFiY2lwaGVydGV4dDAxMjM0NTY3ODlhYmNkZWY', kid };
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, sealed(one)]));
  };
  return Object.fromEntries(
    Object.entries(eventExamples[type]).map(([member, value]) => [
      member,
      personal.includes(member) ? sealed(value) : (value as unknown),
    ]),
  );
};
