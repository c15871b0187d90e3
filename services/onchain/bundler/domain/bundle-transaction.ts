import { hash } from 'node:crypto';
import { digitsOf } from '../../operations/domain/abi-encoding.ts';

/** A transaction without value: of EIP-1559, or a legacy one (EIP-155), whose gas price is `maxFeePerGas`. */
export interface BundleTransaction {
  chainId: number;
  nonce: number;
  maxPriorityFeePerGas: bigint;
  maxFeePerGas: bigint;
  gasLimit: bigint;
  to: string;
  data: string;
  /** Default: false */
  isLegacy?: boolean;
}

const TYPE = Buffer.of(2);
const SINGLE_BYTE_MAX = 0x7f;
const SHORT_BYTES = 55;
const STRING = 0x80;
const LIST = 0xc0;
const SCALAR_BYTES = 32;
const V_OF_EVEN_Y = 27;
/** EIP-155: in addition to twice the chain id. */
const V_OF_EVEN_Y_ON_CHAIN = 35n;

/** Returns the hash of an unsigned transaction, which the executor signs. */
export const transactionDigest = (transaction: BundleTransaction): Buffer =>
  hash(
    'keccak-256',
    encode(transaction, transaction.isLegacy ? [transaction.chainId, 0, 0].map(quantity) : []),
    'buffer',
  );

/**
 * Returns a transaction with its signature, as `eth_sendRawTransaction` takes it: in `0x` hex.
 * @param signature 65 bytes: r, s, and 27 or 28
 */
export const signedTransaction = (transaction: BundleTransaction, signature: Uint8Array): string => {
  const bytes = Buffer.from(signature);
  const yParity = BigInt((bytes.at(-1) ?? 0) - V_OF_EVEN_Y);
  const parts = [
    quantity(transaction.isLegacy ? BigInt(transaction.chainId) * 2n + V_OF_EVEN_Y_ON_CHAIN + yParity : yParity),
    string(withoutLeadingZeros(bytes.subarray(0, SCALAR_BYTES))),
    string(withoutLeadingZeros(bytes.subarray(SCALAR_BYTES, 2 * SCALAR_BYTES))),
  ];
  return `0x${encode(transaction, parts).toString('hex')}`;
};

export const transactionHash = (rawTransaction: string): string =>
  `0x${hash('keccak-256', Buffer.from(digitsOf(rawTransaction), 'hex'), 'hex')}`;

/** @param rest the fields after those of the transaction */
const encode = (transaction: BundleTransaction, rest: readonly Buffer[]): Buffer => {
  const { chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit, to, data } = transaction;
  const call = [
    quantity(gasLimit),
    string(Buffer.from(digitsOf(to), 'hex')),
    quantity(0),
    string(Buffer.from(digitsOf(data), 'hex')),
  ];
  if (transaction.isLegacy) return list([quantity(nonce), quantity(maxFeePerGas), ...call, ...rest]);
  const fields = [chainId, nonce, maxPriorityFeePerGas, maxFeePerGas].map(quantity);
  return Buffer.concat([TYPE, list([...fields, ...call, list([]), ...rest])]);
};

/** Encodes a list in RLP, recursive length prefix (Yellow Paper, appendix B). */
const list = (items: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(items);
  return Buffer.concat([prefix(LIST, content.length), content]);
};

const string = (bytes: Buffer): Buffer =>
  bytes.length === 1 && bytes.readUInt8() <= SINGLE_BYTE_MAX
    ? bytes
    : Buffer.concat([prefix(STRING, bytes.length), bytes]);

const prefix = (kind: number, length: number): Buffer => {
  if (length <= SHORT_BYTES) return Buffer.of(kind + length);
  const lengthBytes = bytesOf(length);
  return Buffer.concat([Buffer.of(kind + SHORT_BYTES + lengthBytes.length), lengthBytes]);
};

const quantity = (value: bigint | number): Buffer => string(bytesOf(value));

/** Returns a number as big-endian bytes without leading zeros: no bytes for 0. */
const bytesOf = (value: bigint | number): Buffer => {
  const digits = value.toString(16);
  return withoutLeadingZeros(Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex'));
};

const withoutLeadingZeros = (bytes: Buffer): Buffer => {
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? Buffer.alloc(0) : bytes.subarray(first);
};
