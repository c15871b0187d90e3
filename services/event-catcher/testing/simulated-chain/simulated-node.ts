import type { ChainLog, LogFilter } from '../../../../shared/chain/chain-reader.ts';
import { passes } from '../../../../shared/chain/log-filter.ts';
import { newestOf } from '../../../../shared/testing/chain/forking-chain.ts';
import {
  hex,
  RpcError,
  toWireHeader,
  toWireLog,
  toWireReceipt,
  transactionsOf,
} from '../../../../shared/testing/chain/wire-forms.ts';
import { OTHER_CHAIN_ID } from './other-chain.ts';
import {
  type Branch,
  type SimulatedBlock,
  type SimulatedChain,
} from '../../../../shared/testing/chain/simulated-chain.ts';
import type { EndpointNature, Episodes, EpisodesWorld } from './simulated-habits.ts';
import { OddAnswers } from './simulated-oddities.ts';
import { refuseBlocks, refuseLogs, refuseOddly, refusePruned } from './simulated-refusals.ts';

interface WireFilter {
  address?: string[];
  topics?: [string[]];
  blockHash?: string;
  fromBlock?: string;
  toBlock?: string;
}

const BEHIND_MOST = 40;
/** A node that lags for ever lags by more blocks, and seconds, than are tolerated. */
const FAR_BEHIND = 20;
const FINALIZED_BEHIND_MOST = 40;

/** The node behind an endpoint. It has a branch of the chain, and may not tell everything it has. */
export class SimulatedNode {
  private view: Branch = [];
  private branch: Branch | undefined;
  private behind = 0;
  private readonly odd: OddAnswers;

  constructor(
    private readonly chain: SimulatedChain,
    private readonly world: EpisodesWorld,
    private readonly nature: EndpointNature,
    private readonly episodes: Episodes,
  ) {
    this.odd = new OddAnswers(nature.odd, world.faults);
  }

  settle(): void {
    this.branch = undefined;
    this.behind = FAR_BEHIND;
  }

  /** It may continue the branch that left the chain. */
  reorganised(before: Branch): void {
    if (this.episodes.has('old')) this.branch = before;
  }

  /** Fixes what the node has now, for all calls of one request. */
  look(): void {
    this.view = this.seen();
  }

  /** Puts the node on another branch for a while, without final blocks of its own. */
  private seen(): Branch {
    const { chain, episodes, world } = this;
    if (!this.branch && episodes.has('apart')) this.fork();
    const isApart = this.branch && (episodes.has('apart') || episodes.has('old')) && chain.hasFinalBlock(this.branch);
    if (!isApart) this.branch = undefined;
    const branch = this.branch ?? chain.canonical;
    const isBehind = episodes.has('lagging');
    if (!isBehind) this.behind = 0;
    else if (this.behind === 0) this.behind = world.random.between(1, BEHIND_MOST);
    if (isBehind) episodes.count('lagging');
    return isBehind ? branch.slice(0, Math.max(1, branch.length - this.behind)) : branch;
  }

  private fork(): void {
    const { chain } = this;
    const { random } = this.world;
    const { canonical, finalNumber } = chain;
    const most = chain.tip.number - finalNumber;
    if (most < 1) return;
    const depth = random.between(1, most);
    const branch = canonical.slice(0, canonical.length - depth);
    // A longer branch would make blocks final that the chain may still replace.
    for (let left = random.between(1, depth); left > 0; left -= 1) branch.push(chain.childOf(newestOf(branch), []));
    this.branch = branch;
    this.episodes.count('apart');
  }

  /** @returns the result of a call. @throws RpcError */
  answer(method: string, [first]: readonly unknown[]): unknown {
    switch (method) {
      case 'eth_chainId':
        if (!this.episodes.has('ofOtherChain')) return hex(this.chain.options.chainId);
        this.episodes.count('ofOtherChain');
        return hex(OTHER_CHAIN_ID);
      case 'eth_getBlockByNumber':
        return first === 'finalized' ? this.finalized() : this.blockByNumber(String(first));
      case 'eth_getBlockByHash':
        return this.headerOf(this.find(this.chain.byHash.get(String(first))));
      case 'eth_getLogs':
        return this.logs(first as WireFilter);
      case 'eth_getBlockReceipts':
        if (!this.nature.hasBlockReceipts) this.world.faults.count('an endpoint has no receipts of blocks');
        if (!this.nature.hasBlockReceipts) throw new RpcError(`the method ${method} does not exist`, { code: -32_601 });
        return this.receipts(this.kept(this.find(this.chain.byHash.get(String(first)))));
      case 'eth_getTransactionReceipt':
        return (
          this.receipts(this.kept(this.find(this.chain.byTransaction.get(String(first)))), String(first))?.[0] ?? null
        );
      default:
        throw new RpcError(`the method ${method} does not exist`, { code: -32_601 });
    }
  }

  private blockByNumber(name: string): unknown {
    const { view, episodes } = this;
    if (this.branch) episodes.count('old');
    const number = name === 'latest' ? view.length - 1 : Number(name);
    const isElsewhere = episodes.has('elsewhere') && number > 0;
    const block = view[isElsewhere ? number - 1 : number];
    if (block && isElsewhere) episodes.count('elsewhere');
    return this.headerOf(block);
  }

  private finalized(): unknown {
    const { chain, episodes, view } = this;
    const { random } = this.world;
    if (episodes.has('unfinalized')) {
      episodes.count('unfinalized');
      if (random.chance(0.5)) return null;
      throw new RpcError("invalid argument 0: hex string without 0x prefix, or 'finalized' block not found");
    }
    const isLate = episodes.has('lateFinalized');
    if (isLate) episodes.count('lateFinalized');
    const number = chain.finalNumber - (isLate ? random.between(1, FINALIZED_BEHIND_MOST) : 0);
    return this.headerOf(view[Math.max(0, Math.min(number, view.length - 1))]);
  }

  private headerOf(block: SimulatedBlock | undefined): unknown {
    const { episodes } = this;
    const { random } = this.world;
    if (!block) return null;
    if (episodes.has('denying')) {
      episodes.count('denying');
      return null;
    }
    const header = this.odd.header({ ...toWireHeader(block.header), transactions: transactionsOf(block.logs) });
    if (!episodes.has('misnaming')) return header;
    episodes.count('misnaming');
    return { ...header, hash: random.hash() };
  }

  /** The block, if the node has it. */
  private find(block: SimulatedBlock | undefined): SimulatedBlock | undefined {
    if (!block || this.nature.keepsOrphans) return block;
    return this.view[block.header.number] === block ? block : undefined;
  }

  /** @throws RpcError if it has pruned the block */
  private kept<Found extends SimulatedBlock | undefined>(block: Found): Found {
    if (!block || block.header.number >= this.nature.keepsFrom) return block;
    this.world.faults.count('an endpoint has pruned history');
    throw refusePruned(this.world.random);
  }

  private oddly(): RpcError | undefined {
    if (!this.nature.refusesOddly) return undefined;
    this.world.faults.count('an endpoint refuses in words that nobody knows');
    return refuseOddly(this.world.random);
  }

  private logs({ address, topics, blockHash, fromBlock, toBlock }: WireFilter): unknown[] {
    const filter = { addresses: address ?? [], topics: topics?.[0] ?? [] };
    if (blockHash !== undefined) {
      if (this.odd.ignoresBlockHash()) return this.given([newestOf(this.view)], filter, false);
      const block = this.find(this.chain.byHash.get(blockHash));
      if (!block) throw new RpcError(`block ${blockHash} not found`);
      return this.given([this.kept(block)], filter, true);
    }
    const [from, to] = [Number(fromBlock), Number(toBlock)];
    if (to - from >= this.nature.blocksMost) {
      this.world.faults.count('an endpoint refuses a range of blocks');
      throw this.oddly() ?? refuseBlocks(this.world.random, { from, to }, this.nature.blocksMost);
    }
    this.kept(this.view[from]);
    return this.given(this.view.slice(from, to + 1), filter, false);
  }

  private given(blocks: readonly SimulatedBlock[], filter: LogFilter, isByHash: boolean): unknown[] {
    const { episodes, nature } = this;
    const { random, faults } = this.world;
    const all = blocks.flatMap((block) => block.logs.filter((log) => passes(log, filter)));
    let logs: readonly ChainLog[] = all;
    if (all.length > 0 && episodes.has('withholding')) {
      episodes.count('withholding');
      const part = random.pick([0, 0.5, 1]) ?? 0;
      const left = new Set(blocks.filter(() => random.chance(part)).map(({ header }) => header.number));
      logs = all.filter(({ blockNumber }) => left.has(blockNumber));
    }
    logs = this.odd.cut(logs);
    if (logs.length > nature.logsMost) {
      faults.count('an endpoint refuses so many logs');
      throw this.oddly() ?? refuseLogs(random, logs, nature.logsMost);
    }
    if (logs.length > 0 && episodes.has('shortening')) {
      episodes.count('shortening');
      logs = logs.slice(0, random.between(0, logs.length - 1));
    }
    const [block] = blocks;
    const last = block?.logs.at(-1);
    // The receipts of the transaction show that it does not have this one.
    if (isByHash && block && last && episodes.has('inventing')) {
      episodes.count('inventing');
      logs = [...logs, this.invented(block, last, filter)];
    }
    return this.odd.logs(logs.map(toWireLog));
  }

  private invented({ header }: SimulatedBlock, last: ChainLog, { addresses, topics }: LogFilter): ChainLog {
    const word = `0x${'0'.repeat(64)}`;
    return {
      address: addresses[0] ?? word.slice(0, 42),
      topics: [topics[0] ?? word, word, word],
      data: word,
      blockNumber: header.number,
      blockHash: header.hash,
      blockTimestamp: header.timestamp,
      txHash: last.txHash,
      txIndex: last.txIndex,
      logIndex: last.logIndex + 1,
    };
  }

  private receipts(block: SimulatedBlock | undefined, transaction?: string): unknown[] | null {
    if (!block) return null;
    const hashes = transaction === undefined ? transactionsOf(block.logs) : [transaction];
    return hashes.map((hash) => toWireReceipt(block.logs, hash));
  }
}
