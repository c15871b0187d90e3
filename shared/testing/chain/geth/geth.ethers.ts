import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { concat, getCreateAddress, toBeHex, Wallet } from 'ethers';
import type { Hardfork } from '../../../chain/hardforks.ts';
import { LOCAL_FUNDER_KEY } from '../../../local-chain/development-token.ethers.ts';
import { LOCAL_FINAL_DEPTH } from '../../../local-chain/local-chain-process.ts';
import { makeFolder } from '../../../primitives/files/make-folder.ts';
import { pause } from '../../../primitives/waiting/pause.ts';
import { Semaphore } from '../../../primitives/waiting/semaphore.ts';
import { eventually } from '../../eventually.ts';
import { FIRST_TIP_WEI, type FundedTransaction, type TestChain } from '../test-chain.ts';
import { hex } from '../wire-forms.ts';
import { writeGenesis } from './geth-genesis.ts';
import { GethMempool } from './geth-mempool.ts';
import { GethProcess } from './geth-process.jose.ts';

interface GethOptions {
  binary: string;
  /** Continues a chain that was kept there. */
  folder: string;
  chainId: number;
  hardfork: Hardfork;
}

interface Block {
  number: string;
  hash: string;
  timestamp: string;
  transactions: { from: string }[];
}

const GWEI = 10n ** 9n;
/** Below the most gas of a transaction since Osaka (EIP-7825). */
const GAS = 8_000_000n;
const TIP_WEI = GWEI;
/** A node refuses a transaction that may cost more than one ether. */
const MAX_FEE_WEI = 100n * GWEI;
const POLL_MS = 10;
/** Longer than a busy machine needs. */
const FOLLOWS_WITHIN_MS = 60_000;
/** How far the safe block is behind the head, as on the development chain. */
const SAFE_DEPTH = LOCAL_FINAL_DEPTH / 2;
const ZERO_HASH = `0x${'00'.repeat(32)}`;
/** Pays for balances and contracts. Its transactions never wait in the mempool, so that blocks may leave others out. */
const FAUCET = new Wallet(`0x${'f0'.repeat(32)}`);
const FUNDER = new Wallet(LOCAL_FUNDER_KEY);

/** A real geth, of which this class is the consensus client: it decides when a block is made, and which is final. */
export class Geth implements TestChain {
  /** Held by the only caller that makes or removes blocks, or uses the faucet. */
  private readonly permit = new Semaphore(1);
  private readonly mempool: GethMempool;
  private readonly stopping = new AbortController();
  private automining: Promise<void> | undefined;
  private isAutomining = true;
  private clockAheadSeconds = 0;
  private finalNumber = 0;
  /** Part of each block, so that no two are the same. */
  private blocksMade = 0;

  private constructor(
    readonly chainId: number,
    private readonly hardfork: Hardfork,
    private readonly node: GethProcess,
  ) {
    this.mempool = new GethMempool(node);
  }

  static async start({ binary, folder, chainId, hardfork }: GethOptions): Promise<Geth> {
    if (!existsSync(join(folder, 'geth'))) {
      makeFolder(folder);
      await writeGenesis({ binary, folder, chainId, hardfork, funded: [FAUCET.address, FUNDER.address] });
    }
    const geth = new Geth(chainId, hardfork, await GethProcess.start({ binary, folder, chainId }));
    await geth.start();
    geth.automining = geth.automine();
    // A failure is thrown by `stop`.
    geth.automining.catch(() => undefined);
    return geth;
  }

  get rpcUrl(): string {
    return this.node.rpcUrl;
  }

  call(method: string, ...params: readonly unknown[]): Promise<unknown> {
    return this.node.call(method, ...params);
  }

  setAutomine(isOn: boolean): Promise<void> {
    return this.alone(async () => {
      this.isAutomining = isOn;
      if (isOn) await this.mineIfAnyIsPending();
    });
  }

  mineBlocks(count: number): Promise<void> {
    return this.alone(async () => {
      await this.mempool.untilItFollows([]);
      for (let block = 0; block < count; block += 1) await this.add('pending');
    });
  }

  mineWithoutPending(count: number): Promise<void> {
    return this.alone(async () => {
      for (let block = 0; block < count; block += 1) await this.add([]);
    });
  }

  async pendingTransactions(): Promise<number> {
    return Number(((await this.call('txpool_status')) as { pending: string }).pending);
  }

  increaseTime(seconds: number): Promise<void> {
    this.clockAheadSeconds += seconds;
    return Promise.resolve();
  }

  rollBack(depth: number): Promise<void> {
    return this.alone(async () => {
      const { number } = await this.block('latest');
      await this.removeAfter(Number(number) - depth);
    });
  }

  async snapshot(): Promise<string> {
    return (await this.block('latest')).number;
  }

  revertTo(snapshot: string): Promise<void> {
    return this.alone(() => this.removeAfter(Number(snapshot)));
  }

  setBalance(address: string, wei: bigint): Promise<void> {
    return this.alone(async () => {
      const value = wei - BigInt(String(await this.call('eth_getBalance', address, 'latest')));
      if (value < 0n) throw new Error('only the account itself can lower its balance on a real chain');
      if (value > 0n) await this.payFor({ to: address, value });
    });
  }

  deploy(code: string): Promise<string> {
    return this.alone(async () => {
      const length = toBeHex((code.length - 2) / 2, 2);
      // PUSH2 length, DUP1, PUSH1 12, PUSH1 0, CODECOPY(0, 12, length), PUSH1 0, RETURN(0, length)
      const nonce = await this.payFor({ data: concat(['0x61', length, '0x80600c6000396000f3', code]) });
      return getCreateAddress({ from: FAUCET.address, nonce });
    });
  }

  async send(transaction: FundedTransaction): Promise<string> {
    const nonce = await this.mempool.nextNonce(FUNDER.address, 'pending');
    const signed = await this.signed(FUNDER, { maxPriorityFeePerGas: FIRST_TIP_WEI, ...transaction, nonce });
    return (await this.call('eth_sendRawTransaction', signed)) as string;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    try {
      await this.automining;
    } finally {
      await this.node.stop();
    }
  }

  /** Mines the first block, because before that geth refuses to say that it does not have a transaction. */
  private async start(): Promise<void> {
    await this.choose(await this.block('latest'));
    await this.mineBlocks(1);
    const indexed = async () => (await this.call('eth_getTransactionReceipt', ZERO_HASH)) === null;
    await eventually(indexed, FOLLOWS_WITHIN_MS, 'geth must index the first block');
  }

  private async alone<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.permit.acquire();
    try {
      return await work();
    } finally {
      this.permit.release();
    }
  }

  private async automine(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      if (this.isAutomining && (await this.pendingTransactions()) > 0)
        await this.alone(async () => {
          if (this.isAutomining) await this.mineIfAnyIsPending();
        });
      await pause(POLL_MS, this.stopping.signal);
    }
  }

  /** A pending transaction may offer too little for a block. */
  private async mineIfAnyIsPending(): Promise<void> {
    await this.mempool.untilItFollows([]);
    const { hash, attributes, extraData } = await this.next();
    const built = (await this.call('testing_buildBlockV1', hash, attributes, null, extraData)) as {
      executionPayload: { transactions: string[] };
    };
    const { transactions } = built.executionPayload;
    if (transactions.length > 0) await this.add(transactions);
  }

  /** Signs a transaction of the faucet, and mines it in a block of its own. Returns its nonce. */
  private async payFor(transaction: Partial<FundedTransaction>): Promise<number> {
    const nonce = await this.mempool.nextNonce(FAUCET.address, 'latest');
    const { transactions } = await this.add([await this.signed(FAUCET, { ...transaction, nonce })]);
    if (transactions.length !== 1) throw new Error('the transaction of the faucet is not in its block');
    return nonce;
  }

  private signed(
    wallet: Wallet,
    { gas = GAS, maxPriorityFeePerGas = TIP_WEI, ...transaction }: Partial<FundedTransaction> & { nonce: number },
  ): Promise<string> {
    const fees = { type: 2, gasLimit: gas, maxPriorityFeePerGas, maxFeePerGas: MAX_FEE_WEI };
    return wallet.signTransaction({ ...transaction, ...fees, chainId: this.chainId });
  }

  /** Adds one block with these signed transactions, in this order. Returns once the mempool has followed. */
  private async add(transactions: readonly string[] | 'pending'): Promise<Block> {
    const { attributes, extraData } = await this.next();
    const included = transactions === 'pending' ? null : transactions;
    const hash = await this.call('testing_commitBlockV1', attributes, included, extraData);
    const block = (await this.call('eth_getBlockByHash', hash, true)) as Block;
    await this.choose(block);
    await this.mempool.untilItFollows(block.transactions.map(({ from }) => from));
    return block;
  }

  /** Returns what the next block is made from. */
  private async next(): Promise<{ hash: string; attributes: object; extraData: string }> {
    const { hash, timestamp } = await this.block('latest');
    const now = Math.floor(Date.now() / 1_000) + this.clockAheadSeconds;
    const attributes = {
      timestamp: `0x${Math.max(Number(timestamp) + 1, now).toString(16)}`,
      prevRandao: ZERO_HASH,
      suggestedFeeRecipient: `0x${'00'.repeat(20)}`,
      // Blocks have these since Shanghai and Cancun.
      ...(this.hardfork !== 'london' && { withdrawals: [], parentBeaconBlockRoot: ZERO_HASH }),
    };
    return { hash, attributes, extraData: toBeHex((this.blocksMade += 1), 8) };
  }

  /** Tells geth that this block is the head, and which blocks are safe and final below. */
  private async choose({ number, hash }: Block): Promise<void> {
    const below = async (depth: number) => this.block(hex(Math.max(0, Number(number) - depth)));
    this.finalNumber = Math.max(this.finalNumber, Number(number) - LOCAL_FINAL_DEPTH);
    const [safe, final] = [await below(SAFE_DEPTH), await this.block(hex(this.finalNumber))];
    const state = { headBlockHash: hash, safeBlockHash: safe.hash, finalizedBlockHash: final.hash };
    const answer = await this.node.callEngine('engine_forkchoiceUpdatedV3', state, null);
    const { status } = (answer as { payloadStatus: { status: string } }).payloadStatus;
    if (status !== 'VALID') throw new Error(`geth does not follow its consensus client: ${status}`);
  }

  /** Makes a block the head again. */
  private async removeAfter(number: number): Promise<void> {
    const senders = new Set<string>();
    const head = Number((await this.block('latest')).number);
    // geth refuses to go back to the block where it is.
    if (head === number) return;
    for (let at = head; at > number; at -= 1) {
      const { transactions } = (await this.call('eth_getBlockByNumber', hex(at), true)) as Block;
      for (const { from } of transactions) senders.add(from);
    }
    await this.call('debug_setHead', hex(number));
    this.finalNumber = Math.min(this.finalNumber, number);
    await this.choose(await this.block('latest'));
    await this.mempool.untilItFollows([...senders]);
  }

  private async block(name: string): Promise<Block> {
    return (await this.call('eth_getBlockByNumber', name, false)) as Block;
  }
}
