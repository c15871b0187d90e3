import { hash } from 'node:crypto';
import type { RpcCall } from '../../../shared/chain/client/answer-limits.ts';
import { bloomMayPass } from '../../../shared/chain/bloom.ts';
import { ChainUnavailable, MethodMissing, RangeTooLarge, type ChainLog } from '../../../shared/chain/chain-reader.ts';
import { JsonRpcChainReader } from '../../../shared/chain/client/chain-reader.json-rpc.ts';
import { IMPLEMENTATION_SLOT } from '../../../shared/chain/state/eip-1967.ts';
import {
  checkAmount,
  checkBytes,
  checkNumber,
  checkWord,
} from '../../../shared/chain/client/answers/checked-values.ts';
import { InvalidAnswer } from '../../../shared/chain/client/answers/checked-answers.ts';
import type { CallOutcome, RpcFault } from '../../../shared/chain/client/endpoints/json-rpc-endpoint.ts';
import { NoAnswer, NoMethod, saysNoMethod } from '../../../shared/chain/client/endpoints/no-answer.ts';
import type { ChainClient } from '../../../shared/chain/client/chain-client.ts';
import { blockByNumber, LATEST, quantity, requireBlock } from '../../../shared/chain/client/header-requests.ts';
import type { ChainSettings } from '../../../shared/config/chain-settings.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { getOrLoad, TtlCache } from '../../../shared/primitives/ttl-cache.ts';
import { ACCOUNT_RUNTIME_CODE } from '../smart-accounts/domain/account-proxy-code.ts';
import { addressWord, word } from '../operations/domain/abi-encoding.ts';
import { largest } from '../operations/domain/amounts.ts';
import type { ForkRules } from '../operations/domain/fork-rules.ts';
import { failedOperationOf } from './domain/revert-reason.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';
import { addressOf, checkBlock, checkExecution, checkReceipt, medianTip, revertDataOf } from './checked-operations.ts';
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
import { leastTipIn, sendOutcome } from './send-outcome.ts';
import { bundleCall, simulationCall, type OperationsContracts } from './simulation-call.ts';

/** `balanceOf(address)` */
const BALANCE_OF = '0x70a08231';
/** `getNonce(address,uint192)` */
const GET_NONCE = '0x35567e1a';
const ACCOUNT_CODE = `0x${ACCOUNT_RUNTIME_CODE}`;

/** How many of the newest blocks show the tips, and the percentile that is read of each. */
const TIP_BLOCKS = 20;
const MEDIAN = 50;
const TIP_CALLS: readonly RpcCall[] = [
  { method: 'eth_maxPriorityFeePerGas', params: [] },
  { method: 'eth_feeHistory', params: [quantity(TIP_BLOCKS), 'latest', [MEDIAN]] },
];
const LEAST_TIP_KEPT_MS = 3_600_000;
/** A chain changes its fork about once a year. */
const RULES_KEPT_MS = 60_000;

const latest = (method: RpcCall['method'], ...params: readonly unknown[]): RpcCall => ({
  method,
  params: [...params, 'latest'],
});

/** Asks the client of a chain. Whoever opened it closes it. */
export class JsonRpcOperationsChain implements OperationsChain {
  readonly entryPoint: string;
  private readonly contracts: OperationsContracts;
  private readonly reader: JsonRpcChainReader;
  /** The lowest tip that a node takes, as the node named it. */
  private readonly leastTip = new TtlCache<bigint>(systemClock, { max: 1, ttlMs: LEAST_TIP_KEPT_MS });
  private readonly rules = new TtlCache<Promise<ForkRules>>(systemClock, { max: 1, ttlMs: RULES_KEPT_MS });

  constructor(
    private readonly client: ChainClient,
    { bloom, ...contracts }: OperationsContracts & Pick<ChainSettings, 'bloom'>,
  ) {
    this.entryPoint = contracts.entryPoint;
    this.contracts = contracts;
    this.reader = new JsonRpcChainReader(client, { bloom });
  }

  get chainId(): number {
    return this.client.chainId;
  }

  head(): Promise<OperationsBlock> {
    return this.client.call('the head', [LATEST], ([answer]) => requireBlock(checkBlock(answer)));
  }

  blocks(numbers: readonly number[]): Promise<(OperationsBlock | undefined)[]> {
    return this.client.call('blocks', numbers.map(blockByNumber), (answers) =>
      answers.map((answer, at) => {
        const block = checkBlock(answer);
        if (block && block.number !== numbers[at]) throw new InvalidAnswer('the block is another one');
        return block;
      }),
    );
  }

  async inclusions(from: number, to: number): Promise<OperationInclusion[]> {
    return inclusionsOf(await this.logs(from, to));
  }

  async tips(): Promise<Tips> {
    const least = this.leastTip.get('') ?? 0n;
    const paid = await this.client.tryCall('the tip', TIP_CALLS, tipsIn).catch((error: unknown) => {
      if (error instanceof MethodMissing) return [];
      throw error;
    });
    return { asked: largest(least, ...paid), least };
  }

  forkRules(): Promise<ForkRules> {
    return getOrLoad(this.rules, '', () => this.client.tryCall('the fork', FORK_PROBES, rulesShownBy));
  }

  async dataFee(data: string): Promise<DataFee> {
    const { layerBelow } = await this.forkRules();
    if (layerBelow === undefined) return NO_DATA_FEE;
    const call = dataFeeCall(layerBelow, data, this.entryPoint);
    return this.client.tryCall('the fee for data', [call], ([outcome]) => {
      const fee = readDataFee(layerBelow, outcome);
      if (fee) return fee;
      throw new NoAnswer({ kind: 'other' }, `the oracle of the fee for data (${layerBelow}) does not answer`);
    });
  }

  accounts(addresses: readonly string[]): Promise<AccountState[]> {
    const calls = addresses.flatMap((address) => [
      latest('eth_getBalance', address),
      latest('eth_getCode', address),
      latest('eth_call', { to: this.entryPoint, data: BALANCE_OF + addressWord(address) }),
    ]);
    return this.client.call('accounts', calls, (answers) =>
      addresses.map((_, index) => {
        const [wei, code, deposit] = answers.slice(index * 3);
        return {
          wei: checkAmount(wei, 'the balance'),
          hasCode: checkBytes(code, 'the code') !== '0x',
          depositWei: checkWord(deposit, 'the deposit'),
        };
      }),
    );
  }

  implementations(addresses: readonly string[]): Promise<(string | undefined)[]> {
    const calls = addresses.flatMap((address) => [
      latest('eth_getCode', address),
      latest('eth_getStorageAt', address, IMPLEMENTATION_SLOT),
    ]);
    return this.client.call('implementations', calls, (answers) =>
      addresses.map((_, index) => {
        const [code, slot] = answers.slice(index * 2);
        const implementation = addressOf(word(checkAmount(slot, 'the slot')));
        return checkBytes(code, 'the code') === ACCOUNT_CODE ? implementation : undefined;
      }),
    );
  }

  sequences(keys: readonly { sender: string; key: bigint }[]): Promise<bigint[]> {
    const calls = keys.map(({ sender, key }) =>
      latest('eth_call', { to: this.entryPoint, data: GET_NONCE + addressWord(sender) + word(key) }),
    );
    return this.client.call('nonces', calls, (answers) =>
      answers.map((answer) => BigInt.asUintN(64, checkWord(answer, 'the nonce'))),
    );
  }

  simulate(requests: readonly SimulationRequest[]): Promise<Simulation[]> {
    const calls = requests.map((request) => simulationCall(request, this.contracts));
    return this.client.tryCall('simulations', calls, (outcomes) =>
      outcomes.map((outcome, index) => simulationOf(outcome, requests[index])),
    );
  }

  tryBundle(operations: readonly UserOperation[], beneficiary: string): Promise<BundleTrial> {
    const call = bundleCall(operations, beneficiary, this.contracts);
    return this.client.tryCall('a bundle', [call], ([outcome]): BundleTrial => {
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
    const call: RpcCall = { method: 'eth_sendRawTransaction', params: [rawTransaction] };
    let isElsewhere = false;
    return this.client.ask('a transaction', async (endpoint): Promise<SendAnswer> => {
      const [outcome] = await endpoint.tryCall([call]).catch((error: unknown) => {
        isElsewhere = true;
        throw error;
      });
      if (outcome && 'error' in outcome) {
        const words = outcome.error.message;
        if (saysNoMethod(outcome.error)) throw new NoMethod(call.method, words);
        this.noteLeastTip(leastTipIn(words));
        return { outcome: sendOutcome(words), words, isElsewhere };
      }
      if (outcome?.result !== transactionHash) {
        isElsewhere = true;
        throw new InvalidAnswer('the hash is of another transaction');
      }
      return { outcome: 'known', words: '', isElsewhere };
    });
  }

  transactionCount(address: string, blockNumber: number): Promise<number> {
    const call: RpcCall = { method: 'eth_getTransactionCount', params: [address, quantity(blockNumber)] };
    return this.client.call('a nonce', [call], ([answer]) => checkNumber(answer, 'the nonce'));
  }

  receipts(hashes: readonly string[]): Promise<(TransactionReceipt | undefined)[]> {
    const calls = hashes.map((asked): RpcCall => ({ method: 'eth_getTransactionReceipt', params: [asked] }));
    return this.client.call('receipts', calls, (answers) =>
      answers.map((answer, at) => checkReceipt(answer, hashes[at] ?? '')),
    );
  }

  /** Several nodes may name different minimums: the highest counts. */
  private noteLeastTip(tip: bigint | undefined): void {
    if (tip !== undefined && tip >= (this.leastTip.get('') ?? 0n)) this.leastTip.set('', tip);
  }

  private async logs(from: number, to: number): Promise<ChainLog[]> {
    const filter = { addresses: [this.entryPoint.toLowerCase()], topics: INCLUSION_TOPICS };
    try {
      const logs = await this.reader.logsOfRange(from, to, filter);
      if (logs.length > 0 || from < to) return logs;
      // A provider may answer with no logs although there are some. For a single block the bloom decides.
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

/** @param outcomes of `TIP_CALLS`. @throws NoMethod if the node lacks both methods, NoAnswer if it has no good answer to either */
const tipsIn = ([suggestion, history]: readonly CallOutcome[]): bigint[] => {
  const tips = [
    ...tipOf(suggestion, (result) => checkAmount(result, 'the tip')),
    ...tipOf(history, (result) => medianTip(result)),
  ];
  if (tips.length > 0) return tips;
  const faults = [suggestion, history].flatMap((one) => (one && 'error' in one ? [one.error] : []));
  const words = faults.map(({ message }) => message).join('; ');
  const lacksBoth = faults.length === TIP_CALLS.length && faults.every(saysNoMethod);
  throw lacksBoth
    ? new NoMethod(TIP_CALLS.map(({ method }) => method).join(' or '), words)
    : new NoAnswer({ kind: 'other' }, words || 'no answer tells a tip');
};

/** Returns no tip if a node answers with an error, or with what is not a tip. */
const tipOf = (outcome: CallOutcome | undefined, read: (result: unknown) => bigint): bigint[] => {
  if (!outcome || 'error' in outcome) return [];
  try {
    return [read(outcome.result)];
  } catch (error) {
    if (error instanceof InvalidAnswer) return [];
    throw error;
  }
};

const simulationOf = (outcome: CallOutcome, request: SimulationRequest | undefined): Simulation => {
  if ('result' in outcome) return checkExecution(outcome.result, { hasTarget: request?.target !== undefined });
  // The node may refuse the state override of the caller, which is not a failure of the endpoint.
  const revertData = request?.stateOverride ? (revertDataOf(outcome.error) ?? '0x') : requireRevert(outcome.error);
  const failed = failedOperationOf(revertData);
  return failed
    ? { kind: 'refused', reason: failed.reason, revertData: failed.inner ?? '0x' }
    : { kind: 'refused', reason: '', revertData };
};

/** Returns the revert data. Any other error is a failure of the endpoint. @throws NoAnswer */
const requireRevert = (error: RpcFault): string => {
  const revertData = revertDataOf(error);
  if (revertData === undefined) throw new NoAnswer({ kind: 'other' }, error.message);
  return revertData;
};
