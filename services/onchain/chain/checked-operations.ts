import { z } from 'zod';
import { checksumAddress } from '../../../shared/chain/address.ts';
import { InvalidAnswer } from '../../../shared/chain/checked-answers.ts';
import type { RpcFault } from '../../../shared/chain/json-rpc-endpoint.ts';
import { safeParse } from '../../../shared/primitives/safe-parse.ts';
import { SIMULATION_BYTES_MAX } from './simulation-call.ts';
import type { OperationsBlock, Simulation, TransactionReceipt, ValidationData } from './operations-chain.ts';

const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/;
const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/;
const WORD_DIGITS = 64;
const ADDRESS_DIGITS = 40;

const number = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,13}$/)
  .transform((text) => Number.parseInt(text, 16));
const amount = z.string().regex(QUANTITY).transform(BigInt);
const hash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((text) => text.toLowerCase());
const block = z.object({
  number,
  hash,
  parentHash: hash,
  timestamp: number,
  baseFeePerGas: amount,
  gasLimit: amount,
});
const receipt = z.object({
  transactionHash: hash,
  blockHash: hash,
  blockNumber: number,
  status: z.enum(['0x0', '0x1']),
});

const parse = <Parsed>(schema: z.ZodType<Parsed>, answer: unknown, what: string): Parsed => {
  const parsed = safeParse(schema, answer);
  if (parsed.success) return parsed.data;
  throw new InvalidAnswer(`${what} is not valid: ${z.prettifyError(parsed.error)}`);
};

/** Returns `undefined` for `null`, the answer for a block that there is not. @throws InvalidAnswer, as all of these do */
export const checkBlock = (answer: unknown): OperationsBlock | undefined =>
  answer === null ? undefined : parse(block, answer, 'the block');

/** Returns `undefined` for `null`, the answer for a transaction that is in no block. */
export const checkReceipt = (answer: unknown, asked: string): TransactionReceipt | undefined => {
  if (answer === null) return undefined;
  const { status, ...fields } = parse(receipt, answer, 'the receipt');
  if (fields.transactionHash !== asked.toLowerCase()) throw new InvalidAnswer('the receipt is of another transaction');
  return { ...fields, success: status === '0x1' };
};

export const checkAmount = (answer: unknown, what: string): bigint => {
  if (typeof answer !== 'string' || !QUANTITY.test(answer)) throw new InvalidAnswer(`${what} is not a quantity`);
  return BigInt(answer);
};

export const checkNumber = (answer: unknown, what: string): number => parse(number, answer, what);

export const checkBytes = (answer: unknown, what: string): string => {
  if (typeof answer !== 'string' || !BYTES.test(answer)) throw new InvalidAnswer(`${what} is not hex`);
  return answer.toLowerCase();
};

/** Returns the one word that a contract answered. */
export const checkWord = (answer: unknown, what: string): bigint => {
  const bytes = checkBytes(answer, what);
  if (bytes.length !== '0x'.length + WORD_DIGITS) throw new InvalidAnswer(`${what} is not one word`);
  return BigInt(bytes);
};

/** What `simulateHandleOp` returned. */
export const checkExecution = (answer: unknown, { hasTarget }: { hasTarget: boolean }): Simulation => {
  const digits = checkBytes(answer, 'the simulation').slice(2);
  const wordAt = (at: number): bigint => {
    const word = digits.slice(at * WORD_DIGITS, (at + 1) * WORD_DIGITS);
    if (word.length !== WORD_DIGITS) throw new InvalidAnswer('the simulation is too short');
    return BigInt(`0x${word}`);
  };
  const length = Number(wordAt(TARGET_RESULT_AT - 1));
  const targetResult = digits.slice(TARGET_RESULT_AT * WORD_DIGITS).slice(0, 2 * length);
  const isClipped = digits.length === 2 * SIMULATION_BYTES_MAX;
  if (targetResult.length !== 2 * length && !isClipped) throw new InvalidAnswer('the simulation is too short');
  return {
    kind: 'valid',
    preOpGas: wordAt(1),
    paid: wordAt(2),
    account: validationData(wordAt(3)),
    paymaster: validationData(wordAt(4)),
    targetSuccess: !hasTarget || wordAt(5) === 1n,
    targetResult: `0x${targetResult}`,
  };
};
/** In words: behind the offset of the tuple, its head of six, and the length. */
const TARGET_RESULT_AT = 8;

/** ERC-4337: who vouches for it (0: the account, 1: nobody), until when (six bytes), and from when (six bytes). */
const validationData = (packed: bigint): ValidationData => ({
  failed: BigInt.asUintN(160, packed) !== 0n,
  until: Number(BigInt.asUintN(48, packed >> 160n)),
  after: Number(packed >> 208n),
});

/** The address in the last twenty bytes of a word, in EIP-55 form. */
export const addressOf = (word: string): string => checksumAddress(word.slice(-ADDRESS_DIGITS).toLowerCase());

/** Said of code that ran and failed, by geth, erigon, reth, nethermind, besu and anvil. */
const FAILED =
  /revert|out ?of ?gas|invalid ?(opcode|fe|jump)|stack ?(under|over)flow|bad (instruction|jump)|vm execution|evm error/i;
/** EIP-1474: the code of a call that reverted. */
const REVERTED = 3;

/**
 * Returns the bytes with which a call reverted, `0x` where there are none; `undefined` if the error is not about what the
 * code did. Some nodes wrap the bytes: `Reverted 0x…`, or an object that has them.
 */
export const revertDataOf = ({ code, message, data }: RpcFault): string | undefined => {
  const { data: inner = data } = Object(data) as { data?: unknown };
  const bytes = typeof inner === 'string' ? /0x(?:[0-9a-fA-F]{2})*$/.exec(inner)?.[0] : undefined;
  if (code !== REVERTED && !FAILED.test(message)) return undefined;
  return (bytes ?? '0x').toLowerCase();
};

const feeHistory = z.object({
  gasUsedRatio: z.array(z.number()),
  reward: z.array(z.array(z.string().regex(QUANTITY))),
});

/** Returns the median tip of the blocks that have transactions, of an answer of `eth_feeHistory`; 0 where there are none. */
export const medianTip = (answer: unknown): bigint => {
  const { data } = safeParse(feeHistory, answer);
  const paid = (data?.reward ?? [])
    .flatMap(([tip = '0x0'], block) => ((data?.gasUsedRatio[block] ?? 0) > 0 ? BigInt(tip) : []))
    .sort((one, other) => (one < other ? -1 : Number(one > other)));
  return paid[Math.floor(paid.length / 2)] ?? 0n;
};
