import { hash } from 'node:crypto';
import { checksumAddress } from '../../../../shared/chain/identifiers/address.ts';
import type { UserOperation } from '../../operations/domain/user-operation.ts';
import { readHandleOps } from './read-handle-ops.ts';
import { recoverAddress } from './recover-address.ethers.ts';

/** A decoded EIP-1559 transaction. */
export interface SimulatedTransaction {
  hash: string;
  chainId: number;
  nonce: number;
  maxPriorityFeePerGas: bigint;
  maxFeePerGas: bigint;
  gasLimit: bigint;
  /** EIP-55. */
  to: string;
  wei: bigint;
  /** EIP-55. */
  from: string;
  /** `0x` hex. */
  data: string;
  /** Gas charged before execution. */
  intrinsicGas: bigint;
  /** `undefined` if the data is not a call of `handleOps`. */
  bundle: { operations: UserOperation[]; beneficiary: string } | undefined;
}

interface Item {
  /** Start of the length prefix. */
  start: number;
  end: number;
  bytes: Buffer;
}

const TYPE = 2;
const MEMBERS = 12;
const ADDRESS_BYTES = 20;
const RECOVERY_BYTE_FROM = 27;
const INTRINSIC_GAS = 21_000;
const GAS_PER_ZERO = 4;
const GAS_PER_BYTE = 16;
/** RLP: a first byte from these values on means a short text, a long text, a short list, a long list. */
const TEXT = 0x80;
const LONG_TEXT = 0xb7;
const LIST = 0xc0;
const LONG_LIST = 0xf7;

/** Returns `undefined` if the bytes are not an EIP-1559 transaction, or its signature is invalid. */
export const readTransaction = (raw: string): SimulatedTransaction | undefined => {
  const all = Buffer.from(raw.slice(2), 'hex');
  const list = all[0] === TYPE ? readItem(all, 1) : undefined;
  if (list?.end !== all.length) return undefined;
  const items: Item[] = [];
  for (let at = 0; at < list.bytes.length; at = items.at(-1)?.end ?? Infinity) items.push(readItem(list.bytes, at));
  const [chainId, nonce, tip, fee, gas, to, wei, data, , parity, r, s] = items.map(({ bytes }) => bytes);
  if (items.length !== MEMBERS || to?.length !== ADDRESS_BYTES || !data) return undefined;
  const unsigned = list.bytes.subarray(0, items.at(-3)?.start);
  const signature = `0x${word(r)}${word(s)}${(RECOVERY_BYTE_FROM + Number(numberOf(parity))).toString(16)}`;
  const digest = keccak(Buffer.concat([Buffer.from([TYPE]), listHead(unsigned.length), unsigned]));
  const from = recoverAddress(digest, signature);
  if (from === undefined) return undefined;
  return {
    hash: `0x${keccak(all).toString('hex')}`,
    chainId: Number(numberOf(chainId)),
    nonce: Number(numberOf(nonce)),
    maxPriorityFeePerGas: numberOf(tip),
    maxFeePerGas: numberOf(fee),
    gasLimit: numberOf(gas),
    to: checksumAddress(to.toString('hex')),
    wei: numberOf(wei),
    from,
    data: `0x${data.toString('hex')}`,
    intrinsicGas: intrinsicGasOf(data),
    bundle: readHandleOps(data),
  };
};

const readItem = (bytes: Buffer, start: number): Item => {
  const first = bytes[start] ?? 0;
  if (first < TEXT) return { start, end: start + 1, bytes: bytes.subarray(start, start + 1) };
  const [short, long] = first < LIST ? [TEXT, LONG_TEXT] : [LIST, LONG_LIST];
  const lengthBytes = Math.max(0, first - long);
  const from = start + 1 + lengthBytes;
  const length = lengthBytes === 0 ? first - short : bytes.readUIntBE(start + 1, lengthBytes);
  return { start, end: from + length, bytes: bytes.subarray(from, from + length) };
};

const listHead = (length: number): Buffer => {
  if (length <= LONG_LIST - LIST) return Buffer.from([LIST + length]);
  const digits = length.toString(16);
  const lengthBytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return Buffer.concat([Buffer.from([LONG_LIST + lengthBytes.length]), lengthBytes]);
};

const intrinsicGasOf = (data: Buffer): bigint => {
  let gas = INTRINSIC_GAS;
  for (const byte of data) gas += byte === 0 ? GAS_PER_ZERO : GAS_PER_BYTE;
  return BigInt(gas);
};

const numberOf = (bytes: Buffer | undefined): bigint => BigInt(`0x0${bytes?.toString('hex') ?? ''}`);
const word = (bytes: Buffer | undefined): string => (bytes?.toString('hex') ?? '').padStart(64, '0');
const keccak = (bytes: Buffer): Buffer => hash('keccak-256', bytes, 'buffer');
