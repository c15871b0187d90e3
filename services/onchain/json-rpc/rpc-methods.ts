import type { JsonValue } from '../../../schemas/json.ts';
import { rpcCodes, type RpcRequest } from '../../../schemas/rpc/rpc-messages.ts';
import {
  rpcMethods,
  type DebugMethodName,
  type RpcMethodName,
  type RpcParams,
  type RpcResult,
} from '../../../schemas/rpc/rpc-methods.ts';
import openRpc from '../../../schemas/generated/openrpc.json' with { type: 'json' };
import { VERSION } from '../../../shared/primitives/version.ts';
import type { ChainNow, ServedChain, ServedChains } from '../served-chains/served-chains.ts';
import type { AcceptedOperations } from './methods/accepted-operations.ts';
import type { DebugBundler } from './methods/debug-bundler.ts';
import type { OperationEstimates } from './methods/operation-estimates.ts';
import { least } from '../operations/domain/amounts.ts';
import { tipWithin } from '../operations/domain/operation-bounds.ts';
import { quantityOf } from '../operations/domain/user-operation.ts';
import { addressOf, readParams } from './methods/operation-numbers.ts';
import { invalidParams, RpcError } from './methods/rpc-error.ts';
import type { RpcContext } from './methods/rpc-context.ts';
import type { SignedOperations } from './methods/signed-operations.ts';
import type { SponsoredOperations } from './methods/sponsored-operations.ts';

type Implementations = {
  [Name in RpcMethodName]: (params: RpcParams<Name>, context: RpcContext) => Promise<RpcResult<Name>>;
};
type Offered = Omit<Implementations, DebugMethodName> & Partial<Implementations>;

interface MethodParts {
  estimates: OperationEstimates;
  signed: SignedOperations;
  sponsored: SponsoredOperations;
  accepted: AcceptedOperations;
  /** Only with `RPC_DEBUG`. */
  debug: DebugBundler | undefined;
}

/** The methods of `/rpc`. */
export class RpcMethods {
  private readonly implementations: Offered;

  constructor(
    private readonly chains: ServedChains,
    { estimates, signed, sponsored, accepted, debug }: MethodParts,
  ) {
    this.implementations = {
      eth_chainId: (_, { chain }) => Promise.resolve(quantityOf(chain.settings.chainId)),
      eth_supportedEntryPoints: (_, { chain }) => Promise.resolve([chain.settings.entryPoint]),
      web3_clientVersion: () => Promise.resolve(`Annals/${VERSION}`),
      eth_estimateUserOperationGas: (params, context) => estimates.estimate(params, context),
      eth_sendUserOperation: (params, context) => signed.send(params, context),
      eth_getUserOperationByHash: (params, context) => accepted.byHash(params, context),
      eth_getUserOperationReceipt: (params, context) => accepted.receiptOf(params, context),
      pm_getPaymasterStubData: (params, context) => sponsored.stub(params, context),
      pm_getPaymasterData: (params, context) => sponsored.sign(params, context),
      pimlico_getUserOperationGasPrice: async (_, { chain }) => gasPricesAt(await chain.now(), chain.feeCap),
      'rpc.discover': () => Promise.resolve(openRpc),
      ...(debug && debugMethods(debug)),
    };
  }

  /** @throws RpcError, and errors that are not answers of a method */
  async call({ method, params, chainID }: RpcRequest, context: Omit<RpcContext, 'chain'>): Promise<JsonValue> {
    const name = method as RpcMethodName;
    if (!Object.hasOwn(this.implementations, method))
      throw new RpcError(rpcCodes.methodNotFound, `there is no method ${method.slice(0, 64)}${hintOf(method)}`);
    const named = readParams(rpcMethods[name].params, params);
    const chain = this.chainOf('chainId' in named ? Number(named.chainId) : chainID);
    if ('entryPoint' in named) requireEntryPoint(chain, named.entryPoint);
    const call = this.implementations[name] as (params: unknown, context: RpcContext) => Promise<JsonValue>;
    return call(named, { ...context, chain });
  }

  private chainOf(chainId: number): ServedChain {
    const chain = this.chains.all.get(chainId);
    if (!chain) throw invalidParams(`chain ${String(chainId)} is not served here`);
    return chain;
  }
}

/** In quarters of the base fee, without the tip. The base fee of a block is at most an eighth above that of its parent. */
const BASE_FEE_QUARTERS = { slow: 5n, standard: 6n, fast: 8n };

const gasPricesAt = ({ head, tips }: ChainNow, feeCap: bigint): RpcResult<'pimlico_getUserOperationGasPrice'> => {
  const { tip, fault } = tipWithin(tips.asked, { feeCap, tips });
  if (fault !== undefined) throw invalidParams(fault);
  const priceOf = (quarters: bigint) => ({
    maxFeePerGas: quantityOf(least((head.baseFeePerGas * quarters) / 4n + tip, feeCap)),
    maxPriorityFeePerGas: quantityOf(tip),
  });
  const { slow, standard, fast } = BASE_FEE_QUARTERS;
  return { slow: priceOf(slow), standard: priceOf(standard), fast: priceOf(fast) };
};

const debugMethods = (debug: DebugBundler): Pick<Implementations, DebugMethodName> => ({
  debug_bundler_clearState: (_, context) => debug.clearState(context),
  debug_bundler_dumpMempool: (_, context) => debug.dumpMempool(context),
  debug_bundler_sendBundleNow: (_, context) => debug.sendBundleNow(context),
  debug_bundler_setBundlingMode: (params, context) => debug.setBundlingMode(params, context),
  debug_bundler_setReputation: (params, context) => debug.setReputation(params, context),
  debug_bundler_dumpReputation: (_, context) => debug.dumpReputation(context),
});

const hintOf = (method: string): string => (Object.hasOwn(rpcMethods, method) ? ' without RPC_DEBUG=on' : '');

const requireEntryPoint = ({ settings }: ServedChain, given: string): void => {
  if (addressOf('entryPoint', given) === settings.entryPoint) return;
  throw invalidParams(`entryPoint: is not supported, ${settings.entryPoint} is`);
};
