import type { z } from 'zod';
import type { EventDefinition, EventOf } from '../../schemas/events/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { StoredEvent } from '../event-store/event-store.ts';
import type { Derived, SearchIndex } from '../read-store/read-store.ts';

type DocumentSchema = z.ZodType<JsonObject>;
/** Document schemas by the role of the document in its read model: `item`, `head`. */
type Schemas = Record<string, DocumentSchema>;

interface Collection<Schema extends DocumentSchema = DocumentSchema> {
  /** The name under which documents are stored. */
  name: string;
  document: Schema;
  /** Members that queries filter and sort by, indexed together in this order. */
  indexes: readonly (readonly (keyof z.infer<Schema> & string)[])[];
  search?: SearchIndex<z.infer<Schema>>;
  derived?: Derived<z.infer<Schema>>;
}

/** At most one document per role; `undefined` if there is none. */
type Documents<S extends Schemas> = { readonly [Role in keyof S]?: z.infer<S[Role]> | undefined };
type Ids<S extends Schemas> = { readonly [Role in keyof S]?: string };

/** A stored event that one of these definitions describes, typed by its `type`. */
type StoredEventOf<Definitions extends Record<string, EventDefinition>> = EventOf<Definitions> &
  Omit<StoredEvent, 'type' | 'data'>;

/**
 * The events that a read model follows, and the fold that turns them into documents. The fold is pure: the same events
 * in the same order give the same documents. A changed fold needs a new name, and so does each collection whose
 * documents change.
 */
export interface ReadModel<S extends Schemas = Schemas> {
  /** Includes the version, as in `users-v5`; also the name of its checkpoint. */
  readonly name: string;
  /**
   * In the order in which documents are stored; they are loaded in the reverse order. So a document never contains an
   * event that a document of an earlier collection lacks, neither after a crash between two writes nor while another
   * process stores.
   */
  readonly collections: { readonly [Role in keyof S]: Collection<S[Role]> };
  readonly eventTypes: readonly string[];
  /**
   * Whether its documents keep personal data sealed, so that it is lost with the user's key. Otherwise the fold
   * receives it decrypted.
   */
  readonly keepsSealed: boolean;
  /** Ids of the documents that the event may change. */
  readonly touches: (event: StoredEvent) => Ids<Schemas>;
  /** These documents after the event, complete; a role that is left out does not change. */
  readonly evolve: (before: Documents<Schemas>, event: StoredEvent) => Documents<Schemas>;
}

/** Defines a read model whose fold is typed by its events: a whole table of event definitions, or a part of one. */
export const readModel = <Definitions extends Record<string, EventDefinition>, S extends Schemas>({
  name,
  collections,
  events,
  keepsSealed = false,
  touches,
  evolve,
}: {
  name: string;
  collections: { [Role in keyof S]: Collection<S[Role]> };
  events: Definitions;
  keepsSealed?: boolean;
  touches: (event: StoredEventOf<Definitions>) => Ids<NoInfer<S>>;
  evolve: (before: Documents<S>, event: StoredEventOf<Definitions>) => Documents<NoInfer<S>>;
}): ReadModel<S> => ({
  name,
  collections,
  eventTypes: Object.keys(events),
  keepsSealed,
  // Only events of these types are passed in, and each was checked against its definition before it was stored.
  touches: touches as ReadModel['touches'],
  evolve: evolve as ReadModel['evolve'],
});
