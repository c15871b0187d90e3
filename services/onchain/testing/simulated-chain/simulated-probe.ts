import { bytesTail, tuple, word } from '../domain/abi-encoding.ts';
import { AbiReader } from '../domain/abi-reader.ts';
import type { SimulationRequest } from '../edge/operations-chain.ts';
import type { SimulatedEntryPoint } from './simulated-entry-point.ts';

/** `innerHandleOp(…)` of EntryPoint v0.7, whose words are the place of the call data, the operation's, and others. */
const INNER_HANDLE_OP = '0x0042dc53';
const CALL_DATA = 0;
const SENDER = 1;
const CALL_GAS_LIMIT = 4;
/** `PostOpReverted(bytes)`, of a paymaster that reverts with what it was told: `postOp(uint8,bytes,uint256,uint256)`. */
const POST_OP_REVERTED = '0xad7954bc';
const POST_OP = '7c627b21';

/**
 * What follows an operation in a simulation: a call of its account, or of the EntryPoint's call of one, whose paymaster tells how
 * it went. @returns the bytes that it reverted with; `undefined` if it did not
 */
export const callTarget = (
  entryPoint: Pick<SimulatedEntryPoint, 'call'>,
  { address, data }: NonNullable<SimulationRequest['target']>,
  gas: bigint,
): string | undefined => {
  if (!data.startsWith(INNER_HANDLE_OP)) return entryPoint.call(address, data);
  const words = new AbiReader(Buffer.from(data.slice(INNER_HANDLE_OP.length), 'hex'));
  const reverted = entryPoint.call(words.address(SENDER), `0x${words.content(CALL_DATA).toString('hex')}`);
  const succeeded = reverted === undefined && gas <= words.uint(CALL_GAS_LIMIT);
  const told = tuple(word(succeeded ? 0 : 1), { tail: bytesTail('01') }, word(gas), word(1));
  return POST_OP_REVERTED + tuple({ tail: bytesTail(POST_OP + told) });
};
