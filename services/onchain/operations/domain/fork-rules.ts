import type { Hardfork } from '../../../../shared/chain/hardforks.ts';

/** The differences between forks that concern bundles. */
export interface ForkRules {
  /** The least gas that a transaction pays for each token of its data (EIP-7623); 0 before Prague. */
  floorTokenGas: bigint;
  /** The largest gas limit of a transaction (EIP-7825); `undefined` before Osaka: then the block's limit applies. */
  transactionGasMax: bigint | undefined;
  /** The kind of rollup, which takes a fee for data in addition; absent on any other chain. */
  layerBelow?: LayerBelow;
}

export type LayerBelow = 'op-stack' | 'arbitrum';

/** By the fork of Ethereum that introduced the rules. Other chains have the same rules under other names. */
export const FORKS = {
  london: { floorTokenGas: 0n, transactionGasMax: undefined },
  prague: { floorTokenGas: 10n, transactionGasMax: undefined },
  osaka: { floorTokenGas: 10n, transactionGasMax: 2n ** 24n },
} as const satisfies Record<Hardfork, ForkRules>;

/** The highest fee for one transaction that geth, and nodes derived from it, take by default (`--rpc.txfeecap`): 1 ether. */
export const TRANSACTION_FEE_MAX = 10n ** 18n;
/** The data of a transaction. Nodes take transactions of 128 KiB; the rest is for the other members. */
export const TRANSACTION_DATA_BYTES_MAX = 130_000;

const TRANSACTION_GAS = 21_000n;
const TOKEN_GAS = 4n;
/** The tokens of a byte that is not zero; a zero byte is one token (EIP-7623). */
const TOKENS_OF_BYTE = 4;

/** The gas that a transaction pays for itself and its data, whatever it executes. */
export interface DataGas {
  /** Paid before the execution, whose gas comes in addition. */
  intrinsic: bigint;
  /** The least that is paid in total, including the execution. */
  floor: bigint;
}

/** @param data `0x` hex */
export const dataGas = (data: string, { floorTokenGas }: Pick<ForkRules, 'floorTokenGas'>): DataGas => {
  const tokens = tokensOf(data);
  return { intrinsic: TRANSACTION_GAS + tokens * TOKEN_GAS, floor: TRANSACTION_GAS + tokens * floorTokenGas };
};

/** Returns the largest gas limit that a transaction in the next block may have. */
export const transactionGasMax = (head: { gasLimit: bigint }, rules: Pick<ForkRules, 'transactionGasMax'>): bigint =>
  rules.transactionGasMax !== undefined && rules.transactionGasMax < head.gasLimit
    ? rules.transactionGasMax
    : head.gasLimit;

const tokensOf = (data: string): bigint => {
  const bytes = Buffer.from(data.slice(2), 'hex');
  let zeros = 0;
  for (const byte of bytes) if (byte === 0) zeros += 1;
  return BigInt(zeros + (bytes.length - zeros) * TOKENS_OF_BYTE);
};
