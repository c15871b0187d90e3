import { Command } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { ProfileChanges } from '../../../schemas/events/user-events.ts';
import type { UserEntity } from '../../../schemas/http/user-entity.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';

/** Changes the members that are given; `null` or nothing clears one. */
export class UpdateProfile extends Command<{ user: UserEntity; position: Position }> {
  constructor(
    readonly userId: string,
    readonly changes: ProfileChanges,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}
