import { BLOOM_OF_NOTHING } from '../../../../shared/chain/bloom.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import { hex, toWireHeader } from '../../../../shared/testing/chain/wire-forms.ts';

/** A node that names no chain of its own. */
export const OTHER_CHAIN_ID = 1;

const FINAL_DEPTH = 2;
const hashOf = (number: number): string => `0x${sha256(`block ${String(number)} of another chain`)}`;

/** The answers of another chain for its id, its head and its finalized block. */
export const answerOfOtherChain = (
  method: string,
  name: unknown,
  { head, timestamp }: { head: number; timestamp: number },
): unknown => {
  if (method === 'eth_chainId') return hex(OTHER_CHAIN_ID);
  const number = Math.max(1, name === 'finalized' ? head - FINAL_DEPTH : head);
  const [hash, parentHash] = [hashOf(number), hashOf(number - 1)];
  return { ...toWireHeader({ number, hash, parentHash, timestamp, logsBloom: BLOOM_OF_NOTHING }), transactions: [] };
};
