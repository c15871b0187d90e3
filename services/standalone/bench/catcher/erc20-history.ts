import { BLOOM_OF_EVERYTHING, BLOOM_OF_NOTHING } from '../../../../shared/chain/bloom.ts';
import { EMITTING_CONTRACT, TRANSFER } from './transfers.ts';

const HOLDERS = 20_000;
const LOGS_PER_BLOCK_MAX = 100;
const LOGS_PER_TRANSACTION_MAX = 3;
/** On a chain of this machine, blocks may come at any time only if the interval is below two seconds. */
const BLOCK_SECONDS = 1;
const FIRST_TIMESTAMP = 1_700_000_000;
/** Blocks without a transfer after the last one, so that all transfers are final. */
const QUIET_BLOCKS = 100;

/** Kinds of hashed things, so that no two hashes are equal. */
const [BLOCK, TRANSACTION, HOLDER, COUNT, CONTENT] = [1, 2, 3, 4, 5].map((kind) => kind * 0x1b873593) as [
  number,
  number,
  number,
  number,
  number,
];

/** The final mix of MurmurHash3: a bijection of 32-bit numbers. */
const mix = (value: number): number => {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
};

const PAIRS = Array.from({ length: 0x1_00_00 }, (_, pair) => pair.toString(16).padStart(4, '0'));
const hexOf = (word: number): string => (PAIRS[word >>> 16] ?? '') + (PAIRS[word & 0xffff] ?? '');

/** Returns 32 bytes that are unique for number and index: both can be read from the first eight. */
const hashOf = (kind: number, number: number, index = 0): string => {
  const first = mix(number ^ kind);
  const second = mix(index + first);
  let text = `0x${hexOf(first)}${hexOf(second)}`;
  for (let word = 2; word < 8; word += 1) text += hexOf(mix(first + Math.imul(second, word)));
  return text;
};

const quantity = (value: number): string => `0x${value.toString(16)}`;
const ZEROS = '0'.repeat(64);
const EMPTY_HASH = `0x${ZEROS}`;

const addresses = Array.from({ length: HOLDERS }, (_, holder) => hashOf(HOLDER, holder).slice(0, 42));
const holderTopics = addresses.map((address) => `0x${ZEROS.slice(0, 24)}${address.slice(2)}`);
/** By Zipf's law: the most active holder has a tenth of all transfers, most holders have a few. */
const holderOf = Uint16Array.from({ length: 0x1_00_00 }, (_, word) => Math.floor(HOLDERS ** (word / 0x1_00_00)) - 1);

interface Transaction {
  hash: string;
  /** The logs of the block that belong to the transaction. */
  logs: { first: number; end: number };
}

/**
 * The chain of one ERC-20 token. Generates each block as JSON from its number on request, because five million
 * transfers do not fit into memory. Hashes have the right form, but are hashes of nothing.
 */
export class Erc20History {
  /** Number of transfers before each block. */
  private readonly before: number[] = [0];

  constructor(
    transfers: number,
    /** Whether a log contains the time of its block, as in new versions of nodes. */
    private readonly timestamps: boolean,
  ) {
    while (this.transfers < transfers) this.add(Math.min(countOf(this.head + 1), transfers - this.transfers));
    for (let block = 0; block < QUIET_BLOCKS; block += 1) this.add(0);
  }

  get transfers(): number {
    return this.before.at(-1) ?? 0;
  }

  get head(): number {
    return this.before.length - 2;
  }

  /** Adds a block with at least one transfer. */
  mine(): void {
    this.add(Math.max(1, countOf(this.head + 1)));
  }

  transfersOf(from: number, to: number): number {
    const end = Math.min(to, this.head) + 1;
    return (this.before[end] ?? 0) - (this.before[Math.min(from, end)] ?? 0);
  }

  /** Returns the last block up to which, from this one on, there are at most this many transfers. */
  lastBlockWith(from: number, transfersMax: number): number {
    let to = from;
    while (to < this.head && this.transfersOf(from, to + 1) <= transfersMax) to += 1;
    return to;
  }

  numberOf(hash: string): number | undefined {
    // `mix` has no short inverse: search from the newest blocks, which are requested most.
    for (let number = this.head; number >= 0; number -= 1) if (hashOf(BLOCK, number) === hash) return number;
    return undefined;
  }

  /** Returns the logs of blocks, as JSON. */
  logs(from: number, to: number): string {
    const parts: string[] = [];
    for (let number = from; number <= Math.min(to, this.head); number += 1) {
      if (this.transfersOf(number, number) > 0) parts.push(this.logsOf(number));
    }
    return `[${parts.join(',')}]`;
  }

  /** Returns a block with whole transactions, or their hashes, as JSON; `null` if there is none. */
  block(number: number, isWhole: boolean): string {
    if (number > this.head) return 'null';
    const transactions = this.transactionsOf(number).map((transaction, index) =>
      isWhole ? transactionJson(transaction, { number, index }) : transaction.hash,
    );
    const header = {
      number: quantity(number),
      hash: hashOf(BLOCK, number),
      parentHash: number === 0 ? EMPTY_HASH : hashOf(BLOCK, number - 1),
      timestamp: quantity(timestampOf(number)),
      logsBloom: this.transfersOf(number, number) > 0 ? BLOOM_OF_EVERYTHING : BLOOM_OF_NOTHING,
      gasLimit: quantity(30_000_000),
      gasUsed: quantity(60_000 * this.transfersOf(number, number)),
      baseFeePerGas: quantity(1_000_000_000),
      miner: addresses[0],
      nonce: '0x0000000000000000',
      difficulty: '0x0',
      totalDifficulty: '0x0',
      size: quantity(20_000),
      extraData: '0x',
      mixHash: EMPTY_HASH,
      sha3Uncles: EMPTY_HASH,
      stateRoot: EMPTY_HASH,
      receiptsRoot: EMPTY_HASH,
      transactionsRoot: EMPTY_HASH,
      uncles: [],
      transactions,
    };
    return JSON.stringify(header);
  }

  private add(count: number): void {
    this.before.push(this.transfers + count);
  }

  private transactionsOf(number: number): Transaction[] {
    const count = this.transfersOf(number, number);
    const transactions: Transaction[] = [];
    for (let first = 0; first < count;) {
      const hash = hashOf(TRANSACTION, number, transactions.length);
      const end = Math.min(count, first + 1 + (mix(number + first) % LOGS_PER_TRANSACTION_MAX));
      transactions.push({ hash, logs: { first, end } });
      first = end;
    }
    return transactions;
  }

  private logsOf(number: number): string {
    const time = this.timestamps ? `"blockTimestamp":"${quantity(timestampOf(number))}",` : '';
    const block = `"blockHash":"${hashOf(BLOCK, number)}","blockNumber":"${quantity(number)}",${time}`;
    let text = '';
    for (const [index, { hash, logs }] of this.transactionsOf(number).entries()) {
      const transaction = `${block}"transactionHash":"${hash}","transactionIndex":"${quantity(index)}"`;
      for (let log = logs.first; log < logs.end; log += 1) {
        const { from, to, value } = contentOf(number, log);
        const topics = `"${TRANSFER}","${holderTopics[from] ?? ''}","${holderTopics[to] ?? ''}"`;
        const data = ZEROS.slice(0, 48) + hexOf(value) + hexOf(mix(value));
        text += `${log === 0 ? '' : ','}{"address":"${EMITTING_CONTRACT}","topics":[${topics}],"data":"0x${data}",${transaction},"logIndex":"${quantity(log)}","removed":false}`;
      }
    }
    return text;
  }
}

const countOf = (number: number): number => mix(number ^ COUNT) % (LOGS_PER_BLOCK_MAX + 1);
const timestampOf = (number: number): number => FIRST_TIMESTAMP + number * BLOCK_SECONDS;

const contentOf = (number: number, log: number): { from: number; to: number; value: number } => {
  const value = mix(Math.imul(number, LOGS_PER_BLOCK_MAX + 1) + log + CONTENT);
  return { from: holderOf[value >>> 16] ?? 0, to: holderOf[value & 0xffff] ?? 0, value };
};

const transactionJson = ({ hash, logs }: Transaction, { number, index }: { number: number; index: number }) => ({
  hash,
  blockHash: hashOf(BLOCK, number),
  blockNumber: quantity(number),
  transactionIndex: quantity(index),
  from: addresses[contentOf(number, logs.first).from],
  to: EMITTING_CONTRACT,
  input: `0xa9059cbb${ZEROS}${ZEROS}`,
  value: '0x0',
  nonce: quantity(number),
  gas: quantity(100_000),
  gasPrice: quantity(2_000_000_000),
  maxFeePerGas: quantity(3_000_000_000),
  maxPriorityFeePerGas: quantity(1_000_000_000),
  type: '0x2',
  accessList: [],
  chainId: quantity(2484),
  v: '0x0',
  yParity: '0x0',
  r: hash,
  s: hash,
});
