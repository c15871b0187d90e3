import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rpcCodes } from '../../../schemas/rpc/rpc-messages.ts';
import { rpcMethods, type RpcMethodName } from '../../../schemas/rpc/rpc-methods.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import {
  chainsOf,
  startAccountUnderTest,
  type AccountUnderTest,
} from '../../account/testing/account-under-test.ethers.ts';
import type { RpcAnswer } from '../testing/rpc-under-test.ethers.ts';

const folder = temporaryFolder();
const ENTRY_POINT = '0x0000000071727De22E5E9d8BAf0edAc6f37da032';
const ADDRESS = '0x52908400098527886E0F7030069857D2E4169EE7';
const WRONG_CHECKSUM = '0x52908400098527886E0F7030069857D2E4169Ee7';
const WORD = `0x${'1'.repeat(64)}`;
const MISSING = undefined;

const operation = {
  ...{ sender: ADDRESS, nonce: '0x0', callData: '0x' },
  ...{ factory: ADDRESS, factoryData: '0x', paymaster: ADDRESS, paymasterData: '0x' },
  ...{ paymasterVerificationGasLimit: '0x1', paymasterPostOpGasLimit: '0x1' },
  ...{ callGasLimit: '0x1', verificationGasLimit: '0x1', preVerificationGas: '0xffffff' },
  ...{ maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x1', signature: '0x' },
};
type Member = keyof typeof operation;

/** Params that fit, of every method. Nothing answers behind them. */
const valid: Record<RpcMethodName, unknown[]> = {
  eth_chainId: [],
  eth_supportedEntryPoints: [],
  web3_clientVersion: [],
  pimlico_getUserOperationGasPrice: [],
  'rpc.discover': [],
  eth_estimateUserOperationGas: [operation, ENTRY_POINT, { [ADDRESS]: { balance: '0x1' } }],
  eth_sendUserOperation: [operation, ENTRY_POINT],
  eth_getUserOperationByHash: [WORD],
  eth_getUserOperationReceipt: [WORD],
  pm_getPaymasterStubData: [operation, ENTRY_POINT, '0x9b4', {}],
  pm_getPaymasterData: [operation, ENTRY_POINT, '0x9b4', {}],
  debug_bundler_clearState: [],
  debug_bundler_dumpMempool: [ENTRY_POINT],
  debug_bundler_sendBundleNow: [],
  debug_bundler_setBundlingMode: ['manual'],
  debug_bundler_setReputation: [[{ address: ADDRESS, opsSeen: '0x1', opsIncluded: '0x0' }], ENTRY_POINT],
  debug_bundler_dumpReputation: [ENTRY_POINT],
};
const names = Object.keys(valid) as RpcMethodName[];

const wrongAddresses = [1, true, {}, '', '0x', ADDRESS.slice(2), ADDRESS.slice(0, -1), `${ADDRESS}0`, WRONG_CHECKSUM];
const wrongQuantities = [1, 1.5, true, [], {}, '', '0x', '1', '-0x1', '0xg', `0x1${'0'.repeat(64)}`];
const wrongBytes = [1, false, [], {}, '', '00', '0x0', '0xgg', '0x000'];
const wrongHashes = [MISSING, null, 1, {}, '', '0x', WORD.slice(0, -1), `${WORD}1`, `0x${'g'.repeat(64)}`];
const wrongOperations = [MISSING, null, 1, 'x', true, []];

const wrongMembers: Record<Member, readonly unknown[]> = {
  sender: [MISSING, null, ...wrongAddresses],
  nonce: [MISSING, null, ...wrongQuantities],
  callData: [MISSING, null, ...wrongBytes],
  factory: wrongAddresses,
  factoryData: wrongBytes,
  paymaster: wrongAddresses,
  paymasterData: wrongBytes,
  paymasterVerificationGasLimit: wrongQuantities,
  paymasterPostOpGasLimit: wrongQuantities,
  callGasLimit: wrongQuantities,
  verificationGasLimit: wrongQuantities,
  preVerificationGas: wrongQuantities,
  maxFeePerGas: wrongQuantities,
  maxPriorityFeePerGas: wrongQuantities,
  signature: wrongBytes,
};

const overridden = (override: unknown, address = ADDRESS) => ({ [address]: override });
const wrongOverrides = [
  ...[1, 'x', [], true],
  ...[1, null, 'x', []].map((one) => overridden(one)),
  ...['0x12', 'x', '', WRONG_CHECKSUM, WORD].map((address) => overridden({}, address)),
  { [ADDRESS]: {}, [ADDRESS.toLowerCase()]: {} },
  ...wrongQuantities.flatMap((value) => [overridden({ balance: value }), overridden({ nonce: value })]),
  overridden({ nonce: `0x1${'0'.repeat(16)}` }),
  ...wrongBytes.map((code) => overridden({ code })),
  ...['state', 'stateDiff'].flatMap((member) => [
    ...[1, null, 'x', []].map((slots) => overridden({ [member]: slots })),
    ...['0x1', '1', WORD.slice(2), `${WORD}1`].map((slot) => overridden({ [member]: { [slot]: WORD } })),
    ...[1, null, '0x1', '1', WORD.slice(2), `${WORD}1`].map((held) => overridden({ [member]: { [WORD]: held } })),
  ]),
  overridden({ state: {}, stateDiff: {} }),
  overridden({ balanse: '0x1' }),
  overridden({ movePrecompileToAddress: ADDRESS }),
];

const reputation = { address: ADDRESS, opsSeen: '0x1', opsIncluded: '0x1' };
const wrongReputations = [
  ...[MISSING, null, 1, 'x', {}, [null], [1], [[]]],
  ...wrongAddresses.map((address) => [{ ...reputation, address }]),
  ...[MISSING, null, 1, '', '0x', '-0x1', '1', '0xg', '0x1000000000000'].flatMap((count) => [
    [{ ...reputation, opsSeen: count }],
    [reputation, { ...reputation, opsIncluded: count }],
  ]),
  Array.from({ length: 101 }, () => reputation),
];

/** By the name of a param, what it may not be. */
const wrongParams: Record<string, readonly unknown[]> = {
  userOperation: wrongOperations,
  entryPoint: [MISSING, null, ...wrongAddresses, ADDRESS],
  chainId: [MISSING, null, ...wrongQuantities, '0x6'],
  hash: wrongHashes,
  stateOverride: wrongOverrides,
  mode: [MISSING, null, 1, {}, '', 'Manual'],
  reputations: wrongReputations,
};
/** It may be anything. */
const UNUSED = 'context';

describe('params of /rpc', () => {
  let account: AccountUnderTest;
  let token: string;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder, {
      CHAINS: chainsOf([2484, 'http://127.0.0.1:9']),
      RPC_DEBUG: 'on',
    });
    token = (await account.logIn(account.newWallet())).accessToken;
  });
  afterAll(() => account.service.close());

  const ask = async (method: string, params: readonly unknown[]): Promise<RpcAnswer> => {
    const answer = await account.ask('/rpc', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: { jsonrpc: '2.0', id: 1, chainID: 2484, apiKey: account.app.apiKey, method, params },
    });
    return (await answer.json()) as RpcAnswer;
  };
  /** Each is refused by a sentence that begins with what it is about. */
  const refused = async (method: RpcMethodName, all: readonly (readonly unknown[])[], about: RegExp) => {
    for (const params of all) {
      const { error } = await ask(method, params);
      expect({ params, code: error?.code, message: error?.message }).toEqual({
        ...{ params, code: rpcCodes.invalidParams },
        message: expect.stringMatching(about),
      });
    }
  };
  /** Those before it as they are. `undefined`: it is missing, as are those behind it. */
  const withParam = (method: RpcMethodName, at: number, param: unknown): unknown[] =>
    param === undefined ? valid[method].slice(0, at) : valid[method].with(at, param);

  it('that fit are of every method, and are not what it is refused for, if it is', async () => {
    const answers = await Promise.all(names.map((method) => ask(method, valid[method])));
    for (const { error } of answers) expect([undefined, rpcCodes.internalError]).toContain(error?.code);
    expect([...names].sort()).toEqual(Object.keys(rpcMethods).sort());
  });

  it.each(names)('of %s may not be more', (method) =>
    refused(method, [[...valid[method], ...['x', 'x', 'x']]], /^there are \d params at most$/),
  );

  const ofOperations = names.filter((name) => 'userOperation' in rpcMethods[name].params);
  it.each(
    ofOperations.flatMap((method) => Object.keys(operation).map((member) => [method, member as Member] as const)),
  )('of %s have to fit: userOperation.%s', (method, member) => {
    const all = wrongMembers[member].map((value) => withParam(method, 0, { ...operation, [member]: value }));
    return refused(method, all, new RegExp(`^userOperation\\.${member}: \\w`));
  });

  it.each(ofOperations)('of %s have nothing that would be left out', async (method) => {
    const without = (member: Member) => [
      withParam(method, 0, { ...operation, [member]: undefined, [`${member}Data`]: '0x01' }),
    ];
    await refused(method, without('factory'), /^userOperation\.factory: is missing, and factoryData is there$/);
    await refused(method, without('paymaster'), /^userOperation\.paymaster: is missing, and paymasterData is there$/);
    const authorized = withParam(method, 0, { ...operation, eip7702Auth: { chainId: '0x1' } });
    await refused(method, [authorized], /^userOperation\.eip7702Auth: is not supported$/);
  });

  const params = names.flatMap((method) =>
    Object.keys(rpcMethods[method].params).map((name, at) => [method, name, at]),
  );
  it.each(params.filter(([, name]) => name !== UNUSED) as [RpcMethodName, string, number][])(
    'of %s have to fit: %s',
    (method, name, at) => {
      const all = wrongParams[name] ?? [];
      expect(all).not.toEqual([]);
      return refused(
        method,
        all.map((param) => withParam(method, at, param)),
        new RegExp(`^(?:${name}\\b.*: \\w|chain \\w+ is not served here)`),
      );
    },
  );
});
