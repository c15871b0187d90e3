import { z } from 'zod';
import { operationReceipt, quantity } from '../http/onchain/operation-receipt.ts';
import { bundlingMode } from '../events/onchain/bundler-events.ts';
import { anyJson } from '../json.ts';
import { address, addressInput, hash, hashInput, hexBytes } from '../values.ts';
import {
  answeredOperation,
  draftOperation,
  pricedOperation,
  quantityInput,
  signedOperation,
  stateOverride,
} from './rpc-operation.ts';

const REPUTATIONS_MAX = 100;

interface RpcMethod {
  summary: string;
  /** By the name of each, in their order. Those at the end that may be missing say so. */
  params: Record<string, z.ZodType>;
  result: z.ZodType;
}

const paymasterFields = z.object({
  paymaster: address,
  paymasterData: hexBytes,
  paymasterVerificationGasLimit: quantity,
  paymasterPostOpGasLimit: quantity,
});
/** ERC-7677 lets a client say to the paymaster whatever they have agreed upon; here nothing is. */
const context = z.unknown().optional().describe('not used');

const gasPrice = z.object({ maxFeePerGas: quantity, maxPriorityFeePerGas: quantity });

const ok = z.literal('ok');
const countInput = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,12}$/, 'is not a count: 0x and up to 12 hex digits')
  .describe('0x and up to 12 hex digits');
const reputations = z
  .array(z.object({ address: addressInput, opsSeen: countInput, opsIncluded: countInput }))
  .max(REPUTATIONS_MAX);

/** Every method of `POST /rpc` (ERC-7769, ERC-7677, and what clients of bundlers ask first), by its name. */
export const rpcMethods = {
  eth_chainId: { summary: 'The chain that is asked', params: {}, result: quantity },
  eth_supportedEntryPoints: {
    summary: 'The entry points of operations that are taken',
    params: {},
    result: z.array(address),
  },
  web3_clientVersion: { summary: 'The name and version of this service', params: {}, result: z.string() },
  eth_estimateUserOperationGas: {
    summary: 'Limits of gas with which an operation succeeds',
    params: { userOperation: draftOperation, entryPoint: addressInput, stateOverride: stateOverride.optional() },
    result: z.object({
      callGasLimit: quantity,
      verificationGasLimit: quantity,
      preVerificationGas: quantity,
      paymasterVerificationGasLimit: quantity.exactOptional().describe('with a paymaster'),
    }),
  },
  eth_sendUserOperation: {
    summary: 'Carry out a signed operation; its hash is answered once it is stored',
    params: { userOperation: signedOperation, entryPoint: addressInput },
    result: hash,
  },
  eth_getUserOperationByHash: {
    summary: 'An operation that was accepted here, and where it is in the chain',
    params: { hash: hashInput },
    result: z
      .object({
        userOperation: answeredOperation,
        entryPoint: address,
        transactionHash: hash.nullable(),
        blockHash: hash.nullable(),
        blockNumber: quantity.nullable(),
      })
      .nullable(),
  },
  eth_getUserOperationReceipt: {
    summary: 'What became of an operation that was accepted here',
    params: { hash: hashInput },
    result: operationReceipt.nullable(),
  },
  pm_getPaymasterStubData: {
    summary: 'Paymaster data to estimate gas by',
    params: { userOperation: draftOperation, entryPoint: addressInput, chainId: quantityInput, context },
    result: paymasterFields,
  },
  pm_getPaymasterData: {
    summary: 'Paymaster data by which the app pays for an operation',
    params: { userOperation: pricedOperation, entryPoint: addressInput, chainId: quantityInput, context },
    result: paymasterFields.extend({ sponsor: z.object({ name: z.string() }) }),
  },
  pimlico_getUserOperationGasPrice: {
    summary: 'Fees with which an operation is included: in a while, soon, and also if many want the next block',
    params: {},
    result: z.object({ slow: gasPrice, standard: gasPrice, fast: gasPrice }),
  },
  'rpc.discover': {
    summary: 'The OpenRPC document of this endpoint',
    params: {},
    result: z.record(z.string(), anyJson),
  },
  debug_bundler_clearState: {
    summary: 'Take everything out of the mempool, and forget all reputations; with RPC_DEBUG',
    params: {},
    result: ok,
  },
  debug_bundler_dumpMempool: {
    summary: 'The operations that are to be included; with RPC_DEBUG',
    params: { entryPoint: addressInput },
    result: z.array(answeredOperation),
  },
  debug_bundler_sendBundleNow: {
    summary: 'Send a bundle of what the mempool has; null if it has nothing that can be sent; with RPC_DEBUG',
    params: {},
    result: hash.nullable(),
  },
  debug_bundler_setBundlingMode: {
    summary: 'Whether bundles are sent by themselves, or on request only; with RPC_DEBUG',
    params: { mode: bundlingMode },
    result: ok,
  },
  debug_bundler_setReputation: {
    summary: 'Set what counts of the operations of senders, factories and paymasters; with RPC_DEBUG',
    params: { reputations, entryPoint: addressInput },
    result: ok,
  },
  debug_bundler_dumpReputation: {
    summary: 'What is known of senders, factories and paymasters that are not of this service; with RPC_DEBUG',
    params: { entryPoint: addressInput },
    result: z.array(
      z.object({ address, opsSeen: quantity, opsIncluded: quantity, status: z.enum(['ok', 'throttled', 'banned']) }),
    ),
  },
} as const satisfies Record<string, RpcMethod>;

type Methods = typeof rpcMethods;
export type RpcMethodName = keyof Methods;
/** Those that are answered with `RPC_DEBUG` only. */
export type DebugMethodName = Extract<RpcMethodName, `debug_${string}`>;
export type RpcParams<Name extends RpcMethodName> = {
  [Param in keyof Methods[Name]['params']]: z.output<Extract<Methods[Name]['params'][Param], z.ZodType>>;
};
export type RpcResult<Name extends RpcMethodName> = z.output<Methods[Name]['result']>;
