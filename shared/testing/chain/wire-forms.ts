import { bloomOf } from '../../chain/bloom.ts';
import type { BlockHeader, ChainLog } from '../../chain/chain-reader.ts';

/** An error answer of a node. */
export class RpcError extends Error {
  override readonly name = 'RpcError';

  constructor(
    message: string,
    readonly more: { code?: number | undefined; data?: unknown } = {},
  ) {
    super(message);
  }
}

export const hex = (value: number | bigint): string => `0x${value.toString(16)}`;

export const toWireHeader = (header: BlockHeader | undefined): object | undefined =>
  header && {
    ...header,
    number: hex(header.number),
    timestamp: hex(header.timestamp),
    baseFeePerGas: '0x3b9aca00',
    gasLimit: '0x1c9c380',
    gasUsed: /^0x0*$/.test(header.logsBloom) ? '0x0' : '0x5208',
  };

export const transactionsOf = (logs: readonly ChainLog[]): string[] => [...new Set(logs.map(({ txHash }) => txHash))];

export const toWireReceipt = (logs: readonly ChainLog[], transaction: string): object | undefined => {
  const own = logs.filter(({ txHash }) => txHash === transaction);
  const [first] = own;
  return (
    first && {
      transactionHash: transaction,
      transactionIndex: hex(first.txIndex),
      blockHash: first.blockHash,
      blockNumber: hex(first.blockNumber),
      logsBloom: bloomOf(own),
      logs: own.map(toWireLog),
    }
  );
};

export const toWireLog = (log: ChainLog): object => ({
  address: log.address,
  topics: log.topics,
  data: log.data,
  blockNumber: hex(log.blockNumber),
  blockHash: log.blockHash,
  ...(log.blockTimestamp !== undefined && { blockTimestamp: hex(log.blockTimestamp) }),
  transactionHash: log.txHash,
  transactionIndex: hex(log.txIndex),
  logIndex: hex(log.logIndex),
  removed: false,
});
