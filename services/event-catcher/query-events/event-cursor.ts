import { Refusal } from '../../../shared/errors/refusal.ts';
import { chainEventIdFrom } from '../../../shared/read-models/chain-events.ts';

export type Order = 'asc' | 'desc';

interface Query {
  chainId: number;
  contractAddress: string;
  order: Order;
}

/** Where a page ended, as clients see it: opaque, and good for the same contract and order only. */
export const encodeCursor = (order: Order, documentId: string): string =>
  Buffer.from(`${order} ${documentId}`).toString('base64url');

/** The id of the document to go on after. @throws Refusal cursor_invalid */
export const decodeCursor = (cursor: string, { chainId, contractAddress, order }: Query): string => {
  const [cursorOrder, id = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  const contract = chainEventIdFrom(chainId, contractAddress, 0).slice(0, -12);
  const isOurs =
    cursorOrder === order &&
    id.startsWith(contract) &&
    /^\d{12}:\d{6,}:[0-9a-f]{16}$/.test(id.slice(contract.length)) &&
    encodeCursor(order, id) === cursor;
  if (!isOurs) throw new Refusal('cursor_invalid', 'the cursor is not from this contract in this order');
  return id;
};
