import type { EventToAppend, StoredEvent } from '../event-store.ts';

/** Encrypts the personal members of events before they are stored, and opens them again. */
export interface EventSealing {
  /** @throws Refusal user_erased, dependency_unavailable */
  seal(event: EventToAppend): Promise<EventToAppend>;
  /** A member whose data key was destroyed becomes `null`. @throws Refusal dependency_unavailable */
  open(events: readonly StoredEvent[]): Promise<StoredEvent[]>;
}
