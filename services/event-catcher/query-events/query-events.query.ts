import { Query } from '@nestjs/cqrs';
import type { EventPage } from '../../../schemas/http/event-catcher-routes.ts';
import type { RecordStatus } from '../../../schemas/http/event-record.ts';
import type { Order } from './event-cursor.ts';

export interface AskedEvents {
  chainId: number;
  contractAddress: string;
  eventSignature?: string | undefined;
  txHash?: string | undefined;
  take: number;
  skip: number;
  cursor?: string | undefined;
  fromBlock?: number | undefined;
  /** Inclusive. */
  toBlock?: number | undefined;
  status?: RecordStatus | undefined;
  order: Order;
  /** Texts that arguments must equal, by name. */
  arguments: ReadonlyMap<string, string>;
}

export class QueryEvents extends Query<EventPage> {
  constructor(readonly asked: AskedEvents) {
    super();
  }
}
