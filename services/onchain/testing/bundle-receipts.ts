import type { BundleReceipt, OperationLog } from '../../../schemas/http/onchain/operation-receipt.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { BEFORE_EXECUTION, USER_OPERATION_EVENT } from '../chain/domain/entry-point-events.ts';

const { transactionHash, blockHash, blockNumber } = eventExamples.TxIncluded;
const { entryPoint } = eventExamples.TxSubmitted;
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';

const place = { transactionHash, blockHash, blockNumber: `0x${blockNumber.toString(16)}`, transactionIndex: '0x0' };

/** A log of a bundle: of a contract, with a letter as its topic, or of the EntryPoint. */
type LogKind = { of: string } | 'before execution' | { endOf: string };

const logOf = (kind: LogKind, index: number): OperationLog => {
  const common = { ...place, logIndex: `0x${index.toString(16)}`, data: '0x', removed: false } as const;
  if (kind === 'before execution') return { ...common, address: entryPoint, topics: [BEFORE_EXECUTION] };
  if ('endOf' in kind) return { ...common, address: entryPoint, topics: [USER_OPERATION_EVENT, kind.endOf] };
  return { ...common, address: TOKEN, topics: [`0x${kind.of.repeat(64)}`] };
};

/** Returns the receipt of the example transaction, with these logs from `firstIndex` on. */
export const bundleReceiptOf = (kinds: readonly LogKind[], firstIndex = 0): BundleReceipt => ({
  ...place,
  from: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  to: entryPoint,
  contractAddress: null,
  cumulativeGasUsed: '0x2bf20',
  gasUsed: '0x2bf20',
  effectiveGasPrice: '0x3b9aca00',
  status: '0x1',
  type: '0x2',
  logsBloom: `0x${'0'.repeat(512)}`,
  logs: kinds.map((kind, at) => logOf(kind, firstIndex + at)),
});
