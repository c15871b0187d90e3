import { keccak256, Wallet } from 'ethers';
import type { RpcCall } from '../../../shared/chain/client/answer-limits.ts';
import { checkAmount } from '../../../shared/chain/client/answers/checked-values.ts';
import type { ChainClient } from '../../../shared/chain/client/chain-client.ts';
import { ChainUnavailable, MethodMissing } from '../../../shared/chain/chain-reader.ts';
import { tipMaxOf, type ChainSettings } from '../../../shared/config/chain-settings.ts';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import type { OperationsChain, SendAnswer } from '../chain/operations-chain.ts';
import { leastTipIn, sendOutcome } from '../chain/send-outcome.ts';
import { faultOfTip } from '../operations/domain/operation-bounds.ts';
import { quantityOf } from '../operations/domain/user-operation.ts';

/** The first pause between two questions for a receipt; each further pause is twice as long, up to `POLL_MAX_MS`. */
const POLL_MS = 20;
const POLL_MAX_MS = 2_000;
const MINED_WITHIN_MS = 300_000;

/** The nodes of a chain. The caller closes the client. */
export interface ChainNode {
  client: ChainClient;
  operations: OperationsChain;
}

/** A transaction of the operator. Without `to` it deploys a contract. */
export interface OperatorCall {
  to?: string;
  /** `0x` hex. */
  data?: string;
  value?: bigint;
}

/** Sends transactions of the operator with the tip that the chain asks for. */
export class OperatorTransactions {
  constructor(
    private readonly node: ChainNode,
    private readonly settings: ChainSettings,
  ) {}

  /** Returns the next nonce of an account, after the newest block. */
  async nextNonce(address: string): Promise<number> {
    const { number } = await this.node.operations.head();
    return this.node.operations.transactionCount(address, number);
  }

  /** Returns the highest price of a transaction now, in wei per gas. */
  async price(): Promise<bigint> {
    const { gasPrice, maxFeePerGas = gasPrice ?? 0n } = await this.fees();
    return maxFeePerGas;
  }

  /**
   * Sends a transaction, and waits for its block. @returns its hash
   * @throws CannotStart if the sender cannot pay or has sent something else with this nonce, or the transaction fails
   */
  async send(wallet: Wallet, { nonce, ...call }: OperatorCall & { nonce: number }): Promise<string> {
    const gasLimit = await this.gasOf(wallet.address, call);
    const sign = async () =>
      wallet.signTransaction({ ...call, chainId: this.settings.chainId, nonce, gasLimit, ...(await this.fees()) });
    let raw = await sign();
    let answer = await this.node.operations.send(raw);
    if (leastTipIn(answer.words) !== undefined) {
      raw = await sign();
      answer = await this.node.operations.send(raw);
    }
    if (answer.outcome !== 'known') throw refusalOf(wallet.address, answer);
    const hash = keccak256(raw);
    await this.waitForBlock(hash);
    return hash;
  }

  private async fees() {
    const [{ baseFeePerGas }, { asked, least }] = await Promise.all([
      this.node.operations.head(),
      this.node.operations.tips(),
    ]);
    const fault = faultOfTip(asked, { least, max: tipMaxOf(this.settings) });
    if (fault !== undefined) throw new CannotStart(`${fault}: raise tipMax in CHAINS`);
    // A chain without a base fee may take legacy transactions only.
    if (baseFeePerGas === 0n) return { type: 0, gasPrice: asked };
    return { type: 2, maxFeePerGas: 2n * baseFeePerGas + asked, maxPriorityFeePerGas: asked };
  }

  private async gasOf(from: string, { value = 0n, ...call }: OperatorCall): Promise<bigint> {
    const params = [{ from, ...call, value: quantityOf(value) }];
    const calls: RpcCall[] = [{ method: 'eth_estimateGas', params }];
    const [outcome] = await this.node.client.tryCall('gas', calls, (outcomes) => outcomes);
    if (!outcome || 'result' in outcome) return checkAmount(outcome?.result, 'the gas');
    const words = outcome.error.message;
    throw refusalOf(from, { outcome: sendOutcome(words), words });
  }

  private async waitForBlock(hash: string): Promise<void> {
    const deadline = performance.now() + MINED_WITHIN_MS;
    for (let pauseMs = POLL_MS; ; pauseMs = Math.min(POLL_MAX_MS, 2 * pauseMs)) {
      const receipt = await this.receiptOf(hash);
      if (receipt?.success === true) return;
      if (receipt) throw new CannotStart(`the transaction ${hash} was reverted`);
      if (performance.now() > deadline) throw new CannotStart(`no block has the transaction ${hash}: run this again`);
      await pause(pauseMs);
    }
  }

  /** Returns `undefined` also for a node that does not know yet: geth refuses receipts while it indexes transactions. */
  private async receiptOf(hash: string) {
    try {
      return (await this.node.operations.receipts([hash]))[0];
    } catch (error) {
      if (error instanceof ChainUnavailable && !(error instanceof MethodMissing)) return undefined;
      throw error;
    }
  }
}

/**
 * The account that pays. Each of its transactions is sent when a block has the one before: Hardhat's node refuses any other order,
 * and anvil may never include a transaction that arrives while anvil makes the block of the one before.
 */
export class Funder {
  /** Counted here, because another node behind the same URL may not have seen the newest block yet. */
  private nextNonce: number | undefined;

  constructor(
    private readonly transactions: OperatorTransactions,
    private readonly chainId: number,
    private readonly key: string | undefined,
  ) {}

  /** Not to be called before the call before has returned. */
  async send(call: OperatorCall): Promise<string> {
    const { key } = this;
    if (key === undefined) {
      const what = `chain ${String(this.chainId)} lacks contracts, balance or deposit`;
      throw new CannotStart(`${what}: name a file with the key of an account that pays by --funder-key-file`);
    }
    const wallet = new Wallet(key);
    const nonce = this.nextNonce ?? (await this.transactions.nextNonce(wallet.address));
    const hash = await this.transactions.send(wallet, { ...call, nonce });
    this.nextNonce = nonce + 1;
    return hash;
  }
}

/** The sender cannot pay. */
export class TooPoor extends CannotStart {}

const refusalOf = (address: string, { outcome, words }: SendAnswer): CannotStart => {
  if (outcome === 'nonce-too-low' || outcome === 'underpriced')
    return new CannotStart(`another transaction of ${address} is under way: run this again when it is in a block`);
  if (outcome === 'insufficient-funds')
    return new TooPoor(`${address} has too little balance to pay for this: send it some`);
  return new CannotStart(`the node refuses a transaction of ${address}: ${words}`);
};
