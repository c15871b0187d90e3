import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { EventToAppend } from '../../../shared/event-store/event-store.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';

/** Ids in the order of their numbers, in which documents are compared. */
export const idOf = (at: number): string => `usr_${String(at).padStart(5, '0')}`;

export const registered = (userId: string): EventToAppend =>
  anEvent({ type: 'UserRegistered', data: { ...(eventExamples.UserRegistered as JsonObject), userId } });

export const renamed = (userId: string, username: string): EventToAppend =>
  anEvent({ type: 'ProfileUpdated', data: { userId, changes: { username } } });
