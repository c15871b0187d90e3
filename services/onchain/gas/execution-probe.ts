import { addressWord, bytesTail, digitsOf, tuple, word } from '../operations/domain/abi-encoding.ts';
import { AbiReader, readIfWellFormed } from '../operations/domain/abi-reader.ts';
import { packedOperation } from '../operations/domain/operation-encoding.ts';
import { userOpHash } from '../operations/domain/operation-hash.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';
import type { OperationsChain, SimulationRequest } from '../chain/operations-chain.ts';

/** `innerHandleOp(bytes,((address,uint256,uint256,…),bytes32,uint256,uint256,uint256),bytes)` of EntryPoint v0.7. */
const INNER_HANDLE_OP = '0x0042dc53';
/** `executeUserOp(…)`: an account whose `callData` begins with it is given the whole operation. */
const EXECUTE_USER_OP = '0x8dd7712f';
/** `PostOpReverted(bytes)` */
const POST_OP_REVERTED = '0xad7954bc';
const SELECTOR_LENGTH = POST_OP_REVERTED.length;
const SELECTOR_BYTES = 4;

/** An address without code. */
const WITNESS = '0x00000000000000000000000000000000616e6e62';
/** CALLDATACOPY(0, 0, CALLDATASIZE), REVERT(0, CALLDATASIZE): reverts with its own call data. */
const WITNESS_CODE = '0x366000600037366000fd';
const WITNESS_GAS = 10_000n;

type ProbedChain = Pick<OperationsChain, 'entryPoint' | 'chainId'>;

/** The result of a call with some limit. */
export interface Execution {
  succeeded: boolean;
  /** The gas that the EntryPoint counts for the call: a little more than the call used. */
  gasUsed: bigint;
}

/**
 * Returns the call of an operation with a gas limit, as the EntryPoint makes it, to be simulated after an operation. A
 * simulation does not tell whether a call succeeded, but the EntryPoint tells the paymaster. The paymaster here is a witness,
 * whose code exists in the simulation only: it reverts with its own call data, which becomes the result.
 */
export const executionProbe = (
  operation: UserOperation,
  callGasLimit: bigint,
  chain: ProbedChain,
): { target: NonNullable<SimulationRequest['target']>; stateOverride: Readonly<Record<string, unknown>> } => {
  const callData = executedCallData(operation, chain);
  const memoryOperation = [
    addressWord(operation.sender),
    word(operation.nonce),
    word(0), // verificationGasLimit
    word(callGasLimit),
    word(0), // paymasterVerificationGasLimit
    word(WITNESS_GAS), // paymasterPostOpGasLimit
    word(0), // preVerificationGas
    addressWord(WITNESS),
    word(1), // maxFeePerGas: the cost equals the gas used
    word(1), // maxPriorityFeePerGas
  ];
  const information = [word(0), word(0), word(0), word(0)]; // hash, prefund, place of the context, gas used before
  const context = '01'; // without a context the EntryPoint does not call the paymaster
  const data =
    INNER_HANDLE_OP +
    tuple({ tail: bytesTail(digitsOf(callData)) }, ...memoryOperation, ...information, { tail: bytesTail(context) });
  return { target: { address: chain.entryPoint, data }, stateOverride: { [WITNESS]: { code: WITNESS_CODE } } };
};

/** Returns the data with which the EntryPoint calls the account; `0x` if it does not call it. */
export const executedCallData = (operation: UserOperation, { entryPoint, chainId }: ProbedChain): string =>
  operation.callData.startsWith(EXECUTE_USER_OP)
    ? EXECUTE_USER_OP +
      tuple({ tail: packedOperation(operation) }, digitsOf(userOpHash(operation, entryPoint, chainId)))
    : operation.callData;

/** Reads the call of the witness: `postOp(mode, context, cost, price)`. `undefined` if there was not enough gas for it. */
export const readExecution = (targetResult: string): Execution | undefined => {
  if (!targetResult.startsWith(POST_OP_REVERTED)) return undefined;
  return readIfWellFormed(() => {
    const told = new AbiReader(Buffer.from(targetResult.slice(SELECTOR_LENGTH), 'hex')).content(0);
    const words = new AbiReader(told.subarray(SELECTOR_BYTES));
    return { succeeded: words.uint(0) === 0n, gasUsed: words.uint(2) };
  });
};
