import { checksumAddress } from '../../../../shared/chain/identifiers/address.ts';
import { bytesTail, tuple, word } from '../../operations/domain/abi-encoding.ts';
import { AbiReader } from '../../operations/domain/abi-reader.ts';
import type { SimulationRequest } from '../../chain/operations-chain.ts';
import type { SimulatedEntryPoint } from './simulated-entry-point.ts';

/** `innerHandleOp(…)` of EntryPoint v0.7. Its words: the offset of the call data, the members of the operation, and others. */
const INNER_HANDLE_OP = '0x0042dc53';
const CALL_DATA = 0;
const SENDER = 1;
const CALL_GAS_LIMIT = 4;
/** `PostOpReverted(bytes)`, from a paymaster that reverts with the call data of `postOp(uint8,bytes,uint256,uint256)`. */
const POST_OP_REVERTED = '0xad7954bc';
const POST_OP = '7c627b21';

/**
 * Runs the call that follows an operation in a simulation: of its account, or of the EntryPoint's `innerHandleOp`, whose
 * paymaster reports the outcome. @returns the revert data; `undefined` on success
 */
export const callTarget = (
  entryPoint: Pick<SimulatedEntryPoint, 'call'>,
  { address, data }: NonNullable<SimulationRequest['target']>,
  gas: bigint,
): string | undefined => {
  if (!data.startsWith(INNER_HANDLE_OP)) return entryPoint.call(address, data);
  const words = new AbiReader(Buffer.from(data.slice(INNER_HANDLE_OP.length), 'hex'));
  const sender = checksumAddress(words.uint(SENDER).toString(16).padStart(40, '0'));
  const reverted = entryPoint.call(sender, `0x${words.content(CALL_DATA).toString('hex')}`);
  const succeeded = reverted === undefined && gas <= words.uint(CALL_GAS_LIMIT);
  const told = tuple(word(succeeded ? 0 : 1), { tail: bytesTail('01') }, word(gas), word(1));
  return POST_OP_REVERTED + tuple({ tail: bytesTail(POST_OP + told) });
};
