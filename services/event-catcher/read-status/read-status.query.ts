import { Query } from '@nestjs/cqrs';
import type { WatchStatus } from '../../../schemas/http/event-catcher-routes.ts';

export class ReadStatus extends Query<WatchStatus> {
  constructor(readonly asked: { chainId: number; contractAddress: string; eventName: string }) {
    super();
  }
}
