import { Command } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { RegisteredContract } from '../../../schemas/http/event-catcher-routes.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';

export interface Registered {
  contract: RegisteredContract;
  /** This registration made the watch. */
  isNew: boolean;
  position: Position;
}

/** Has an event of a contract watched, for one app. */
export class RegisterContract extends Command<Registered> {
  constructor(
    readonly asked: {
      appId: string;
      chainId: number;
      contractAddress: string;
      eventSignature: string;
      eventAbi: string;
      startBlock: number | 'deploy';
    },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}
