import { hash } from 'node:crypto';
import type { RpcCall } from '../../../shared/chain/answer-limits.ts';
import { bloomMayPass } from '../../../shared/chain/bloom.ts';
import { ChainUnavailable, RangeTooLarge, type ChainLog } from '../../../shared/chain/chain-reader.ts';
import { JsonRpcChainReader } from '../../../shared/chain/chain-reader.json-rpc.ts';
import { IMPLEMENTATION_SLOT } from '../../../shared/chain/eip-1967.ts';
import { InvalidAnswer } from '../../../shared/chain/checked-answers.ts';
import { NoAnswer, type CallOutcome, type RpcFault } from '../../../shared/chain/json-rpc-endpoint.ts';
import { JsonRpcEndpoints, type EndpointLimits } from '../../../shared/chain/json-rpc-endpoints.ts';
import type { ChainSettings } from '../../../shared/config/settings.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { keptOrAsked, KeptValues } from '../../../shared/primitives/kept-values.ts';
import { ACCOUNT_RUNTIME_CODE } from '../domain/account-proxy-code.ts';
import type { ForkRules } from '../domain/fork-rules.ts';
import { failedOperationOf } from '../domain/revert-reason.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import {
  addressOf,
  checkAmount,
  checkBlock,
  checkBytes,
  checkExecution,
  checkNumber,
  checkReceipt,
  checkWord,
  medianTip,
  revertDataOf,
} from './checked-operations.ts';
import { dataFeeCall, NO_DATA_FEE, readDataFee, type DataFee } from './data-fees.ts';
import { FORK_PROBES, rulesShownBy } from './fork-probes.ts';
import { INCLUSION_TOPICS, inclusionsOf } from './operation-inclusions.ts';
import type {
  AccountState,
  BundleTrial,
  OperationInclusion,
  OperationsBlock,
  OperationsChain,
  SendAnswer,
  Simulation,
  SimulationRequest,
  Tips,
  TransactionReceipt,
} from './operations-chain.ts';
import { sendOutcome } from './send-outcome.ts';
import { bundleCall, simulationCall, type OperationsContracts } from './simulation-call.ts';

/** `balanceOf(address)` */
const BALANCE_OF = '0x70a08231';
/** `getNonce(address,uint192)` */
const GET_NONCE = '0x35567e1a';
const ACCOUNT_CODE = `0x${ACCOUNT_RUNTIME_CODE}`;

/** Blocks whose tips are looked at, and the percentile of each. */
const TIP_BLOCKS = 20;
const MEDIAN = 50;
/** A chain goes to another fork once a year. */
const RULES_KEPT_MS = 60_000;

const quantity = (value: number): string => `0x${value.toString(16)}`;
const addressWord = (address: string): string => address.slice(2).toLowerCase().padStart(64, '0');
const latest = (method: RpcCall['method'], ...params: readonly unknown[]): RpcCall => ({
  method,
  params: [...params, 'latest'],
});
const blockByNumber = (number: string): RpcCall => ({ method: 'eth_getBlockByNumber', params: [number, false] });

/** Asks the JSON-RPC endpoints of a chain. */
export class JsonRpcOperationsChain implements OperationsChain {
  readonly chainId: number;
  readonly entryPoint: string;
  private readonly contracts: OperationsContracts;
  private readonly endpoints: JsonRpcEndpoints;
  private readonly reader: JsonRpcChainReader;
  private readonly rules = new KeptValues<Promise<ForkRules>>(systemClock, { max: 1, keptMs: RULES_KEPT_MS });

  constructor(
    {
      chainId,
      rpcUrls,
      bloom,
      ...contracts
    }: Pick<ChainSettings, 'chainId' | 'rpcUrls' | 'bloom'> & OperationsContracts,
    limits: EndpointLimits = {},
  ) {
    this.chainId = chainId;
    this.entryPoint = contracts.entryPoint;
    this.contracts = contracts;
    this.endpoints = new JsonRpcEndpoints(chainId, rpcUrls, limits);
    this.reader = new JsonRpcChainReader(chainId, rpcUrls, { ...limits, bloom });
  }

  head(): Promise<OperationsBlock> {
    return this.endpoints.ask('the head', async (endpoint) => {
      const [answer] = await endpoint.call([blockByNumber('latest')]);
      const block = checkBlock(answer);
      if (!block) throw new InvalidAnswer('there is no latest block');
      return block;
    });
  }

  blocks(numbers: readonly number[]): Promise<(OperationsBlock | undefined)[]> {
    return this.endpoints.ask('blocks', async (endpoint) => {
      const answers = await endpoint.call(numbers.map((number) => blockByNumber(quantity(number))));
      return answers.map((answer, at) => {
        const block = checkBlock(answer);
        if (block && block.number !== numbers[at]) throw new InvalidAnswer('the block is another one');
        return block;
      });
    });
  }

  async inclusions(from: number, to: number): Promise<OperationInclusion[]> {
    return inclusionsOf(await this.logs(from, to));
  }

  tips(): Promise<Tips> {
    return this.endpoints.ask('the tip', async (endpoint) => {
      const [suggested, history] = await endpoint.tryCall([
        { method: 'eth_maxPriorityFeePerGas', params: [] },
        { method: 'eth_feeHistory', params: [quantity(TIP_BLOCKS), 'latest', [MEDIAN]] },
      ]);
      if (!suggested || 'error' in suggested)
        throw new NoAnswer({ kind: 'other' }, suggested?.error.message ?? 'no answer about the tip');
      // Some nodes have no history of fees.
      const paid = history && 'result' in history ? medianTip(history.result) : 0n;
      return { suggested: checkAmount(suggested.result, 'the tip'), paid };
    });
  }

  forkRules(): Promise<ForkRules> {
    return keptOrAsked(this.rules, '', () =>
      this.endpoints.ask('the fork', async (endpoint) => rulesShownBy(await endpoint.tryCall(FORK_PROBES))),
    );
  }

  async dataFee(data: string): Promise<DataFee> {
    const { layerBelow } = await this.forkRules();
    if (layerBelow === undefined) return NO_DATA_FEE;
    return this.endpoints.ask('the fee for data', async (endpoint) => {
      const [outcome] = await endpoint.tryCall([dataFeeCall(layerBelow, data, this.entryPoint)]);
      const fee = readDataFee(layerBelow, outcome);
      if (fee) return fee;
      throw new NoAnswer({ kind: 'other' }, `the oracle of the fee for data (${layerBelow}) does not answer`);
    });
  }

  accounts(addresses: readonly string[]): Promise<AccountState[]> {
    const calls = addresses.map((address) => [
      latest('eth_getBalance', address),
      latest('eth_getCode', address),
      latest('eth_call', { to: this.entryPoint, data: BALANCE_OF + addressWord(address) }),
    ]);
    return this.endpoints.ask('accounts', async (endpoint) => {
      const answers = await endpoint.call(calls.flat());
      return addresses.map((_, index) => {
        const [wei, code, deposit] = answers.slice(index * 3);
        return {
          wei: checkAmount(wei, 'the balance'),
          hasCode: checkBytes(code, 'the code') !== '0x',
          depositWei: checkWord(deposit, 'the deposit'),
        };
      });
    });
  }

  implementations(addresses: readonly string[]): Promise<(string | undefined)[]> {
    const calls = addresses.map((address) => [
      latest('eth_getCode', address),
      latest('eth_getStorageAt', address, IMPLEMENTATION_SLOT),
    ]);
    return this.endpoints.ask('implementations', async (endpoint) => {
      const answers = await endpoint.call(calls.flat());
      return addresses.map((_, index) => {
        const [code, slot] = answers.slice(index * 2);
        const implementation = addressOf(checkAmount(slot, 'the slot').toString(16).padStart(64, '0'));
        return checkBytes(code, 'the code') === ACCOUNT_CODE ? implementation : undefined;
      });
    });
  }

  sequences(keys: readonly { sender: string; key: bigint }[]): Promise<bigint[]> {
    const calls = keys.map(({ sender, key }) => {
      const data = GET_NONCE + addressWord(sender) + key.toString(16).padStart(64, '0');
      return latest('eth_call', { to: this.entryPoint, data });
    });
    return this.endpoints.ask('nonces', async (endpoint) => {
      const answers = await endpoint.call(calls);
      return answers.map((answer) => BigInt.asUintN(64, checkWord(answer, 'the nonce')));
    });
  }

  simulate(requests: readonly SimulationRequest[]): Promise<Simulation[]> {
    const calls = requests.map((request) => simulationCall(request, this.contracts));
    return this.endpoints.ask('simulations', async (endpoint) => {
      const outcomes = await endpoint.tryCall(calls);
      return outcomes.map((outcome, index) => simulationOf(outcome, requests[index]));
    });
  }

  tryBundle(operations: readonly UserOperation[], beneficiary: string): Promise<BundleTrial> {
    const call = bundleCall(operations, beneficiary, this.contracts);
    return this.endpoints.ask('a bundle', async (endpoint) => {
      const [outcome] = await endpoint.tryCall([call]);
      if (outcome && 'error' in outcome) {
        const revertData = requireRevert(outcome.error);
        const failed = failedOperationOf(revertData);
        if (!failed) return { kind: 'reverted', revertData };
        const { index, reason, inner = '0x' } = failed;
        return { kind: 'failed', index, reason, revertData: inner };
      }
      return { kind: 'ok', gasUsed: checkWord(outcome?.result, 'the gas of a bundle') };
    });
  }

  send(rawTransaction: string): Promise<SendAnswer> {
    const transactionHash = `0x${hash('keccak-256', Buffer.from(rawTransaction.slice(2), 'hex'), 'hex')}`;
    return this.endpoints.ask('a transaction', async (endpoint) => {
      const [outcome] = await endpoint.tryCall([{ method: 'eth_sendRawTransaction', params: [rawTransaction] }]);
      if (outcome && 'error' in outcome) {
        const words = outcome.error.message;
        return { outcome: sendOutcome(words), words };
      }
      if (outcome?.result !== transactionHash) throw new InvalidAnswer('the hash is of another transaction');
      return { outcome: 'known', words: '' };
    });
  }

  transactionCount(address: string, blockNumber: number): Promise<number> {
    return this.endpoints.ask('a nonce', async (endpoint) => {
      const params = [address, quantity(blockNumber)];
      const [answer] = await endpoint.call([{ method: 'eth_getTransactionCount', params }]);
      return checkNumber(answer, 'the nonce');
    });
  }

  receipts(hashes: readonly string[]): Promise<(TransactionReceipt | undefined)[]> {
    const calls = hashes.map((asked): RpcCall => ({ method: 'eth_getTransactionReceipt', params: [asked] }));
    return this.endpoints.ask('receipts', async (endpoint) => {
      const answers = await endpoint.call(calls);
      return answers.map((answer, at) => checkReceipt(answer, hashes[at] ?? ''));
    });
  }

  close(): void {
    this.endpoints.close();
    this.reader.close();
  }

  private async logs(from: number, to: number): Promise<ChainLog[]> {
    const filter = { addresses: [this.entryPoint.toLowerCase()], topics: INCLUSION_TOPICS };
    try {
      const logs = await this.reader.logsOfRange(from, to, filter);
      if (logs.length > 0 || from < to) return logs;
      // A provider may say that there are none although there are. The bloom of a single block is asked.
      const [header] = await this.reader.headersByNumber([to]);
      return header && bloomMayPass(header.logsBloom, filter) ? await this.reader.logsOfBlock(header, filter) : logs;
    } catch (error) {
      if (!(error instanceof RangeTooLarge)) throw error;
      if (from === to) throw new ChainUnavailable(error.message);
      const middle = Math.floor((from + to) / 2);
      return [...(await this.logs(from, middle)), ...(await this.logs(middle + 1, to))];
    }
  }
}

const simulationOf = (outcome: CallOutcome, request: SimulationRequest | undefined): Simulation => {
  if ('result' in outcome) return checkExecution(outcome.result, { hasTarget: request?.target !== undefined });
  // The caller's own state override may be what the node does not take.
  const revertData = request?.stateOverride ? (revertDataOf(outcome.error) ?? '0x') : requireRevert(outcome.error);
  const failed = failedOperationOf(revertData);
  return failed
    ? { kind: 'refused', reason: failed.reason, revertData: failed.inner ?? '0x' }
    : { kind: 'refused', reason: '', revertData };
};

/** Anything but a revert is a failure of the endpoint. */
const requireRevert = (error: RpcFault): string => {
  const revertData = revertDataOf(error);
  if (revertData === undefined) throw new NoAnswer({ kind: 'other' }, error.message);
  return revertData;
};
