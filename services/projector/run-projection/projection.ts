import type { EventType } from '../../../schemas/events/catalogue.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';

/** One document, by collection and id. */
export interface DocumentKey {
  collection: string;
  id: string;
}

/** The documents that an event may change, as they are before it; `undefined` where there is none yet. */
export type DocumentsBefore = (key: DocumentKey) => JsonObject | undefined;

/**
 * A read model: which events it follows and what they make of its documents. Pure, and a fold: the same events in the
 * same order give the same documents. A changed one is a new name.
 */
export interface Projection {
  /** With its version, e.g. `users-v1`: the checkpoint's name. */
  name: string;
  eventTypes: readonly EventType[];
  /**
   * Documents that `evolve` will ask for. Of several collections always in the same order: in it they are stored, and in
   * its reverse loaded, so that no document knows an event that one of a collection before its own does not, neither
   * after a crash between two nor while another process stores.
   */
  touches: (event: StoredEvent) => readonly DocumentKey[];
  /** The documents after the event, whole; what is not named stays. */
  evolve: (event: StoredEvent, before: DocumentsBefore) => readonly (DocumentKey & { document: JsonObject })[];
}
