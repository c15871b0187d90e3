import type { z } from 'zod';
import type { EventDefinition, EventOf } from '../../schemas/events/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { StoredEvent } from '../event-store/event-store.ts';

type DocumentSchema = z.ZodType<JsonObject>;
/** By the role that a document has in its read model: `item`, `head`. */
type Schemas = Record<string, DocumentSchema>;

interface Collection<Schema extends DocumentSchema = DocumentSchema> {
  /** Under which documents are stored. */
  name: string;
  document: Schema;
  /** Members that queries filter and sort by, indexed together in this order. */
  indexes: readonly (readonly (keyof z.infer<Schema> & string)[])[];
}

/** At most one document of each role; `undefined` where there is none. */
type Documents<S extends Schemas> = { readonly [Role in keyof S]?: z.infer<S[Role]> | undefined };
type Ids<S extends Schemas> = { readonly [Role in keyof S]?: string };

/** A stored event that one of these definitions describes: its type says what its data is. */
type StoredEventOf<Definitions extends Record<string, EventDefinition>> = EventOf<Definitions> &
  Omit<StoredEvent, 'type' | 'data'>;

/**
 * Which events it follows and what they make of its documents. Pure, and a fold: the same events in the same order give
 * the same documents. A changed one has a new name, and so has each collection whose documents change.
 */
export interface ReadModel<S extends Schemas = Schemas> {
  /** With its version, as `users-v1`: its checkpoint's name. */
  readonly name: string;
  /**
   * In the order in which documents are stored, and in its reverse loaded, so that no document knows an event that one of
   * a collection before its own does not, neither after a crash between two nor while another process stores.
   */
  readonly collections: { readonly [Role in keyof S]: Collection<S[Role]> };
  readonly eventTypes: readonly string[];
  /** Ids of the documents that the event may change. */
  readonly touches: (event: StoredEvent) => Ids<Schemas>;
  /** Those documents after the event, whole; what is left out stays as it was before. */
  readonly evolve: (before: Documents<Schemas>, event: StoredEvent) => Documents<Schemas>;
}

/** A read model whose fold is typed by the events that it takes: a table of them whole, or some of it. */
export const readModel = <Definitions extends Record<string, EventDefinition>, S extends Schemas>({
  name,
  collections,
  events,
  touches,
  evolve,
}: {
  name: string;
  collections: { [Role in keyof S]: Collection<S[Role]> };
  events: Definitions;
  touches: (event: StoredEventOf<Definitions>) => Ids<NoInfer<S>>;
  evolve: (before: Documents<S>, event: StoredEventOf<Definitions>) => Documents<NoInfer<S>>;
}): ReadModel<S> => ({
  name,
  collections,
  eventTypes: Object.keys(events),
  // It is given events of these types alone, which were checked against their definitions before they were stored.
  touches: touches as ReadModel['touches'],
  evolve: evolve as ReadModel['evolve'],
});
