import { describe, expect, it } from '@jest/globals';
import { id } from 'ethers';
import type { ChainLog } from '../../../shared/chain/chain-reader.ts';
import { INCLUSION_TOPICS, inclusionsOf } from './operation-inclusions.ts';

const word = (value: bigint | number): string => value.toString(16).padStart(64, '0');
const hash = `0x${'a'.repeat(64)}`;
const address = `0x${word(0x1234)}`;
const ofOperation = { address: '0x', blockNumber: 7, blockHash: `0x${'b'.repeat(64)}`, blockTimestamp: undefined };
const log = (event: string, logIndex: number, words: readonly string[], topics: readonly string[] = []): ChainLog => ({
  ...ofOperation,
  ...{ txHash: `0x${'c'.repeat(64)}`, txIndex: 0, logIndex },
  topics: [id(event), hash, address, ...topics],
  data: `0x${words.join('')}`,
});
/** Nonce, offset, length and the bytes. */
const reason = (bytes: string) => [word(3), word(64), word(bytes.length / 2), bytes.padEnd(64, '0')];
const included = (success: boolean) =>
  log(
    'UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)',
    9,
    [word(3), word(success ? 1 : 0), word(500), word(50)],
    [`0x${word(0)}`],
  );

describe('an operation that a block has', () => {
  it.each(['UserOperationRevertReason', 'PostOpRevertReason'])('is told with the bytes of its %s', (event) => {
    const reverted = log(`${event}(bytes32,address,uint256,bytes)`, 8, reason('deadbeef'));
    expect(INCLUSION_TOPICS).toContain(reverted.topics[0]);
    expect(inclusionsOf([reverted, included(false)])).toMatchObject([
      { userOpHash: hash, nonce: 3n, success: false, actualGasCost: 500n, revertReason: '0xdeadbeef' },
    ]);
  });

  it('has no such bytes where it succeeds', () => {
    expect(inclusionsOf([included(true)])).toMatchObject([{ success: true, revertReason: undefined }]);
  });
});
