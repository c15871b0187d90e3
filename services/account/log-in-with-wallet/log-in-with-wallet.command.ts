import { Command } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Session } from '../../../schemas/http/account-routes.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';

export interface LoggedIn {
  session: Session;
  position: Position;
}

/** Redeems the challenge that a wallet signed. */
export class LogInWithWallet extends Command<LoggedIn> {
  constructor(
    readonly login: {
      appId: string;
      origin: string;
      signer: string;
      signature: string;
      /** The `user-agent`. */
      device: string | undefined;
    },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}
