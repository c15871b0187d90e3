import { Command } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Challenge } from '../../../schemas/http/account-routes.ts';

export class IssueChallenge extends Command<Challenge> {
  constructor(
    readonly asked: { appId: string; origin: string; signer: string; chainId: number },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}
