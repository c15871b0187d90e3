import type { ChainLog } from '../../../shared/chain/chain-reader.ts';
import { InvalidAnswer } from '../../../shared/chain/client/answers/checked-answers.ts';
import { USER_OPERATION_EVENT } from './domain/entry-point-events.ts';
import { addressOf } from './checked-operations.ts';
import type { OperationInclusion } from './operations-chain.ts';

/** `AccountDeployed(bytes32 indexed, address indexed, address, address)` */
const ACCOUNT_DEPLOYED = '0xd51a9c61267aa6196961883ecf5ff2da6619c37dac0fa92122513fb32c032d2d';
/** `UserOperationRevertReason(bytes32 indexed, address indexed, uint256, bytes)` */
const USER_OPERATION_REVERT_REASON = '0x1c4fada7374c0a9ee8841fc38afe82932dc0f8e69012e927f061a8bae611a201';
/** `PostOpRevertReason(bytes32 indexed, address indexed, uint256, bytes)`: then the call, and with it its own reason, is undone. */
const POST_OP_REVERT_REASON = '0xf62676f440ff169a3a9afdbf812e89e7f95975ee8e5c31214ffdef631c5f4792';
const REVERT_REASONS = [USER_OPERATION_REVERT_REASON, POST_OP_REVERT_REASON];

export const INCLUSION_TOPICS = [USER_OPERATION_EVENT, ACCOUNT_DEPLOYED, ...REVERT_REASONS];

const WORD_DIGITS = 64;

/** Reads operations from logs of the EntryPoint in chain order. @throws InvalidAnswer */
export const inclusionsOf = (logs: readonly ChainLog[]): OperationInclusion[] => {
  const inclusions: OperationInclusion[] = [];
  const deployed = new Set<string>();
  const reasons = new Map<string, string>();
  for (const log of logs) {
    const [event = '', userOpHash = '', sender = '', paymaster = ''] = log.topics;
    const key = `${log.txHash} ${userOpHash}`;
    if (event === ACCOUNT_DEPLOYED) deployed.add(key);
    else if (REVERT_REASONS.includes(event)) reasons.set(key, revertReason(log));
    else {
      inclusions.push({
        userOpHash,
        sender: addressOf(sender),
        nonce: wordOf(log, 0),
        paymaster: addressOf(paymaster),
        success: wordOf(log, 1) === 1n,
        actualGasCost: wordOf(log, 2),
        actualGasUsed: wordOf(log, 3),
        // Both logs come before the UserOperationEvent of the same operation.
        deployed: deployed.has(key),
        revertReason: reasons.get(key),
        blockNumber: log.blockNumber,
        blockHash: log.blockHash,
        transactionHash: log.txHash,
        logIndex: log.logIndex,
      });
    }
  }
  return inclusions;
};

const digitsAt = ({ data }: ChainLog, word: number, length: number): string => {
  const start = '0x'.length + word * WORD_DIGITS;
  const digits = data.slice(start, start + length);
  if (digits.length !== length) throw new InvalidAnswer('the data of a log is too short');
  return digits;
};

const wordOf = (log: ChainLog, word: number): bigint => BigInt(`0x${digitsAt(log, word, WORD_DIGITS)}`);

/** After the nonce and the offset: length and bytes. */
const revertReason = (log: ChainLog): string => `0x${digitsAt(log, 3, 2 * Number(wordOf(log, 2)))}`;
