import { z } from 'zod';
import { checksumAddress } from '../../../shared/chain/identifiers/address.ts';
import { checkHeader, InvalidAnswer } from '../../../shared/chain/client/answers/checked-answers.ts';
import {
  checkAmount,
  checkBytes,
  checkHash,
  checkNumber,
  QUANTITY,
} from '../../../shared/chain/client/answers/checked-values.ts';
import type { RpcFault } from '../../../shared/chain/client/endpoints/json-rpc-endpoint.ts';
import { safeParse } from '../../../shared/primitives/text/safe-parse.ts';
import { SIMULATION_BYTES_MAX } from './simulation-call.ts';
import type { OperationsBlock, Simulation, TransactionReceipt, ValidationData } from './operations-chain.ts';

const WORD_DIGITS = 64;
const ADDRESS_DIGITS = 40;

/** Returns `undefined` for `null`, the answer for a block that does not exist. @throws InvalidAnswer, as all of these do */
export const checkBlock = (answer: unknown): OperationsBlock | undefined => {
  const header = checkHeader(answer);
  if (!header) return undefined;
  const { logsBloom: _, ...block } = header;
  const { baseFeePerGas, gasLimit } = Object(answer) as Record<string, unknown>;
  return {
    ...block,
    // Blocks before London (EIP-1559) have no base fee.
    baseFeePerGas: baseFeePerGas == null ? 0n : checkAmount(baseFeePerGas, 'the base fee'),
    gasLimit: checkAmount(gasLimit, 'the gas limit'),
  };
};

/** Returns `undefined` for `null`, the answer for a transaction that is in no block. */
export const checkReceipt = (answer: unknown, asked: string): TransactionReceipt | undefined => {
  if (answer === null) return undefined;
  const { transactionHash, blockHash, blockNumber, status } = Object(answer) as Record<string, unknown>;
  if (checkHash(transactionHash, 'the hash of the transaction') !== asked.toLowerCase())
    throw new InvalidAnswer('the receipt is of another transaction');
  if (status !== '0x0' && status !== '0x1') throw new InvalidAnswer('the status of the receipt is not 0x0 or 0x1');
  return {
    transactionHash: asked.toLowerCase(),
    blockHash: checkHash(blockHash, 'the hash of the block'),
    blockNumber: checkNumber(blockNumber, 'the number of the block'),
    success: status === '0x1',
  };
};

/** Reads the result of `simulateHandleOp`. */
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
/** In words: after the offset of the tuple, its head of six words, and the length. */
const TARGET_RESULT_AT = 8;

/** ERC-4337: the aggregator (0: valid, 1: failed; 20 bytes), `validUntil` and `validAfter` (six bytes each). */
const validationData = (packed: bigint): ValidationData => ({
  failed: BigInt.asUintN(160, packed) !== 0n,
  until: Number(BigInt.asUintN(48, packed >> 160n)),
  after: Number(packed >> 208n),
});

/** The address in the last twenty bytes of a word, in EIP-55 form. */
export const addressOf = (word: string): string => checksumAddress(word.slice(-ADDRESS_DIGITS).toLowerCase());

/** How geth, erigon, reth, nethermind, besu and anvil report code that ran and failed. */
const FAILED =
  /revert|out ?of ?gas|invalid ?(opcode|fe|jump)|stack ?(under|over)flow|bad (instruction|jump)|vm execution|evm error/i;
/** EIP-1474: the code of a call that reverted. */
const REVERTED = 3;

/**
 * Returns the bytes with which a call reverted, `0x` if there are none; `undefined` if the error is not about the
 * execution. Some nodes wrap the bytes: `Reverted 0x…`, or an object that contains them.
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

/** Reads from `eth_feeHistory` the median tip of the blocks that have transactions; 0 if there are none. */
export const medianTip = (answer: unknown): bigint => {
  const { data } = safeParse(feeHistory, answer);
  const paid = (data?.reward ?? [])
    .flatMap(([tip = '0x0'], block) => ((data?.gasUsedRatio[block] ?? 0) > 0 ? BigInt(tip) : []))
    .sort((one, other) => (one < other ? -1 : Number(one > other)));
  return paid[Math.floor(paid.length / 2)] ?? 0n;
};
