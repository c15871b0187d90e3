/** What the forks of chains differ in, as far as a bundle meets it. */
export interface ForkRules {
  /** What a transaction pays at least for each token of its data (EIP-7623); 0 before Prague. */
  floorTokenGas: bigint;
  /** The largest gas limit of a transaction (EIP-7825); `undefined` before Osaka: then a block's. */
  transactionGasMax: bigint | undefined;
  /** The kind of rollup that it is, which takes a fee for data besides; absent on any other chain. */
  layerBelow?: LayerBelow;
}

export type LayerBelow = 'op-stack' | 'arbitrum';

/** By the fork of Ethereum with which each came. Other chains have the same rules, by forks of other names. */
export const FORKS = {
  london: { floorTokenGas: 0n, transactionGasMax: undefined },
  prague: { floorTokenGas: 10n, transactionGasMax: undefined },
  osaka: { floorTokenGas: 10n, transactionGasMax: 2n ** 24n },
} as const satisfies Record<string, ForkRules>;

export type Fork = keyof typeof FORKS;

/** What geth takes for one transaction unless it is told otherwise (`--rpc.txfeecap`), and the nodes made of it: 1 ether. */
export const TRANSACTION_FEE_MAX = 10n ** 18n;
/** The data of a transaction, of which nodes take 128 KiB; some is left for what is around it. */
export const TRANSACTION_DATA_BYTES_MAX = 130_000;

const TRANSACTION_GAS = 21_000n;
const TOKEN_GAS = 4n;
/** Of a byte that is not zero; a zero byte is one token (EIP-7623). */
const TOKENS_OF_BYTE = 4;

/** The gas that a transaction pays for itself and its data, whatever it does. */
export interface DataGas {
  /** Before anything is executed, which is paid besides. */
  intrinsic: bigint;
  /** At least, with everything that is executed. */
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
