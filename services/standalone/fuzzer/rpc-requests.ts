import type { JsonObject } from '../../../schemas/json.ts';
import type { DebugMethodName, RpcMethodName } from '../../../schemas/rpc/rpc-methods.ts';
import { addressOfKey, newPrivateKey } from '../../../shared/keys/signatures/secp256k1-keys.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { createAccountData } from '../../onchain/operations/domain/account-calls.ts';
import { STUB_SIGNATURE } from '../../onchain/operations/domain/operation-hash.ts';
import { accountAddress } from '../../onchain/smart-accounts/domain/smart-account.ts';
import { answeredOperationOf } from '../../onchain/operations/domain/user-operation.ts';
import { signOperation } from '../../onchain/testing/signed-operation.ts';
import type { AccountUnderFuzzing } from './account-under-fuzzing.ts';
import type { Caller } from './fuzz-request.ts';
import type { Valids } from './fuzzer.ts';
import type { Succeed } from './logins-here-requests.ts';

const ETHER_HEX = `0x${(10n ** 18n).toString(16)}`;
const CHAIN_HEX = `0x${Anvil.chainId.toString(16)}`;
const GWEI = 10n ** 9n;

/** Requests of JSON-RPC that succeed: each method in a request of its own, and in an array with the next one. */
export const rpcRequests = async (account: AccountUnderFuzzing, caller: Caller, succeed: Succeed): Promise<Valids> => {
  const [settings] = account.foundation.settings.CHAINS ?? [];
  if (!settings) throw new Error('there is no chain');
  const { entryPoint, accountFactory, chainId } = settings;
  const call = (method: RpcMethodName, params: readonly unknown[]) => ({
    ...{ jsonrpc: '2.0', chainID: Anvil.chainId, apiKey: account.app.apiKey, id: method, method, params },
  });
  /** An operation of a new account. */
  const operationOf = (owner: Buffer) => ({
    sender: accountAddress(accountFactory, addressOfKey(owner)),
    nonce: 0n,
    factory: { address: accountFactory, data: createAccountData(addressOfKey(owner)) },
    ...{ callData: '0x', callGasLimit: 0n, verificationGasLimit: 400_000n, preVerificationGas: 80_000n },
    ...{ maxFeePerGas: (3n * GWEI) / 2n, maxPriorityFeePerGas: GWEI, paymaster: undefined, signature: STUB_SIGNATURE },
  });
  const owner = newPrivateKey();
  const sent = signOperation(operationOf(owner), { chainId, entryPoint, owner });
  await account.anvil.call('anvil_setBalance', sent.sender, ETHER_HEX);
  const unpaid = answeredOperationOf(operationOf(newPrivateKey()));
  const stub = call('pm_getPaymasterStubData', [unpaid, entryPoint, CHAIN_HEX, {}]);
  const { result: payment } = (await succeed('rpc', { caller, body: stub })) as { result: JsonObject };
  const draft = { ...unpaid, ...payment };
  const stateOverride = { [draft.sender]: { balance: ETHER_HEX } };
  const estimate = call('eth_estimateUserOperationGas', [draft, entryPoint, stateOverride]);
  const { result: limits } = (await succeed('rpc', { caller, body: estimate })) as { result: JsonObject };
  const send = call('eth_sendUserOperation', [answeredOperationOf(sent), entryPoint]);
  const { result: hash } = (await succeed('rpc', { caller, body: send })) as { result: string };
  const calls: Record<Exclude<RpcMethodName, DebugMethodName>, ReturnType<typeof call>> = {
    eth_chainId: call('eth_chainId', []),
    eth_supportedEntryPoints: call('eth_supportedEntryPoints', []),
    web3_clientVersion: call('web3_clientVersion', []),
    pimlico_getUserOperationGasPrice: call('pimlico_getUserOperationGasPrice', []),
    'rpc.discover': call('rpc.discover', []),
    eth_estimateUserOperationGas: estimate,
    eth_sendUserOperation: send,
    eth_getUserOperationByHash: call('eth_getUserOperationByHash', [hash]),
    eth_getUserOperationReceipt: call('eth_getUserOperationReceipt', [hash]),
    pm_getPaymasterStubData: stub,
    pm_getPaymasterData: call('pm_getPaymasterData', [{ ...draft, ...limits }, entryPoint, CHAIN_HEX, {}]),
  };
  const all = Object.values(calls);
  let made = 0;
  return {
    next: () => {
      const [one, other] = [all[made % all.length], all[(made + 1) % all.length]];
      made += 1;
      return Promise.resolve({ caller, body: made % 2 === 0 ? one : [one, other] });
    },
  };
};
