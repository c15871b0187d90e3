import type { JsonObject } from '../../schemas/json.ts';
import type { EventPlace, Position } from '../event-store/event-store.ts';
import type { FormerCollection } from './former-collections/former-collection.ts';
import type { QueryBudget } from './query-budget.ts';

/**
 * A collection, declared with the members that queries filter and sort by. Each is a top-level member of the document.
 */
export interface CollectionDefinition {
  name: string;
  /** Members indexed together, in this order. The first members decide which queries are fast. */
  indexes: readonly (readonly string[])[];
  /** Added only together with the collection: documents that are stored already are not found by it. */
  search?: SearchIndex | undefined;
  derived?: Derived | undefined;
}

/**
 * Members that every document has, and that follow from its others, as a rule: a store may leave out those that do. Nothing
 * filters or sorts by them. Each is a pure function of the other members, and changes only by a new name of the collection.
 */
export type Derived<Document = JsonObject> = {
  readonly [Member in keyof Document]?: (document: Document) => Document[Member];
};

/**
 * An inverted index: a document is found by what it contains. Each of these is a pure function of the document and its
 * id, and returns safe integers.
 */
export interface SearchIndex<Document = JsonObject> {
  /**
   * The part of the index in which a document is found. It has some thousand documents that are stored soon after each
   * other. When the next number begins, few more come to it, so that it can be stored as it is read best.
   */
  segment: (id: string, document: Document) => number;
  /** No two are the same. */
  terms: (id: string, document: Document) => readonly number[];
  /** Documents are found in this order. It is not negative, and less than the greatest safe integer. */
  order: (id: string, document: Document) => number;
}

export interface SearchedSegment {
  segment: number;
  terms: readonly number[];
  /** Where it is known that its documents have no lesser order, or no greater one: it need not be looked into for others. */
  least?: number;
  greatest?: number;
  /** Another one whenever its documents are others: what a store has kept of the segment is valid for one version. */
  version?: number;
}

export interface Search {
  /** A document is found if it is in the segment of one of these, and has all of its terms, of which each has as many. */
  anyOf: readonly SearchedSegment[];
  /** The least and the greatest order, inclusive. */
  from: number;
  to: number;
}

/** Which of the documents that are found are wanted. */
export interface SearchPage {
  direction: 'asc' | 'desc';
  limit: number;
  /** Only those that come after this one in the sequence. */
  after?: Hit | undefined;
}

/** Returns the range that is left of a search. */
export const rangeAfter = (
  { from, to }: Pick<Search, 'from' | 'to'>,
  direction: SearchPage['direction'],
  after: SearchPage['after'],
): Pick<Search, 'from' | 'to'> => {
  if (!after) return { from, to };
  return direction === 'asc' ? { from: Math.max(from, after.order), to } : { from, to: Math.min(to, after.order) };
};

/** A document that was found, as long as it is not stored again. */
export interface Hit {
  order: number;
  reference: string | number;
}

/** Replaces a whole document, if the stored one is older than `position`. */
export interface DocumentChange {
  collection: string;
  id: string;
  /** The position of the newest event that is folded into this document. */
  position: Position;
  document: JsonObject;
  /** Whether the document did not exist when it was made. Only a hint: right or wrong, the same is stored. */
  isNew?: boolean;
}

type Scalar = string | number | boolean | null;
/** All members must match. A dotted name reaches into the document; `id` is the document's id in the collection. */
export type Filter = Record<
  string,
  Scalar | { in: readonly Scalar[] } | { gte?: Scalar; lte?: Scalar; gt?: Scalar; lt?: Scalar }
>;

export interface FindOptions {
  filter?: Filter;
  sort?: readonly (readonly [member: string, direction: 'asc' | 'desc'])[];
  skip?: number;
  /** Default 1,000. */
  limit?: number;
}

export interface StoredDocument<Document = JsonObject> {
  id: string;
  position: Position;
  document: Document;
}

/** How far a projection has worked. */
export interface Checkpoint {
  position: Position;
  /** An event up to there that the event store never forgets. Absent in a checkpoint that was stored without it. */
  event?: EventPlace;
}

/** Names the one process that may do a piece of work. */
export interface Lease {
  /** The process that holds it; `null` when it was released. */
  holder: string | null;
  /** Grows whenever the holder changes. */
  epoch: number;
  /** Grows while the holder is alive. */
  renewals: number;
}

/** What a caller uses up of a limit. */
export interface PointsToAdd {
  id: string;
  points: number;
  /** How long a count lasts that begins with these. */
  windowMs: number;
}

/** What a caller has used up of a limit. */
export interface Counted {
  points: number;
  /** Unix milliseconds. */
  endsAt: number;
}

/** What a process says of itself, for as long as it lives. */
export interface Announcement {
  /** One process says one thing of a kind. */
  id: string;
  /** Grows each time that it is announced: whoever sees it grow knows that the process lives, whatever the clocks say. */
  renewals: number;
  document: JsonObject;
}

export interface ReadStore {
  /** Creates the projection's collections and indexes that do not exist. */
  define(collections: readonly CollectionDefinition[]): Promise<void>;
  /**
   * Applies a batch and the projection's position as one unit of effect. A change whose position is not newer than the
   * stored document's has no effect, however often it is delivered; of two at one position, which a fold makes the
   * same, either is kept. The position never decreases. A store without transactions stores the changes of one
   * collection before those of the next, in the order in which the collections are first named, and the position last,
   * so that applying the batch again repairs the effects of a crash.
   * @param event the newest up to the position that is never forgotten; without it the stored one stays
   */
  apply(projection: string, changes: readonly DocumentChange[], position: Position, event?: EventPlace): Promise<void>;
  /**
   * Removes what was replaced from the files of the store, as far as it manages them itself: an erased user's documents
   * are in no log of it afterwards.
   */
  forgetReplaced(): Promise<void>;
  /** Returns the collections that have documents, or had, and are none of the current ones: an earlier version's. */
  formerCollections(current: readonly string[]): Promise<FormerCollection[]>;
  /**
   * Removes from the collections that are none of the current ones every document of these users: with such an id, or such
   * a member `userId`. In steps, of which some may be done when it fails; repeat it then.
   */
  removeFromFormer(current: readonly string[], userIds: readonly string[]): Promise<void>;
  /**
   * Keeps with the checkpoint of a projection which documents and fold it is filled by, unless that is known.
   * @returns the digest that is kept
   */
  keepDigest(projection: string, digest: string): Promise<string>;
  /** Returns the position of a projection; 0 when it never ran. */
  position(projection: string): Promise<Position>;
  /** Returns the checkpoints of all projections that ever ran, by name. */
  checkpoints(): Promise<ReadonlyMap<string, Checkpoint>>;
  getMany(collection: string, ids: readonly string[]): Promise<Map<string, StoredDocument>>;
  find(collection: string, options: FindOptions): Promise<StoredDocument[]>;
  count(collection: string, filter: Filter): Promise<number>;
  /**
   * Finds documents by the search index of a collection. Those of one order have a sequence too, always the same.
   * @throws Refusal dependency_unavailable when the time of the budget is over, as the next two do
   */
  search(collection: string, search: Search & SearchPage, budget: QueryBudget): Promise<Hit[]>;
  countFound(collection: string, search: Search, budget: QueryBudget): Promise<number>;
  /** Returns documents that were found, in the order of the references. */
  getFound(collection: string, references: readonly Hit['reference'][], budget: QueryBudget): Promise<StoredDocument[]>;
  lease(name: string): Promise<Lease | undefined>;
  /**
   * Replaces `expected` (`undefined`: no lease) by `next` atomically. @returns whether `expected` was the stored lease
   */
  replaceLease(name: string, expected: Lease | undefined, next: Lease): Promise<boolean>;
  /**
   * Adds points to the counts that last, and begins those that do not. Ids differ. Points are never lost to another
   * process that adds to the same count, except where it begins in that moment.
   * @returns every count by id, as it is then
   */
  addPoints(points: readonly PointsToAdd[], nowMs: number): Promise<Map<string, Counted>>;
  /** Forgets the counts that have ended. */
  forgetPoints(nowMs: number): Promise<void>;
  /** Replaces what was announced of this kind by this id. */
  announce(kind: string, announcement: Announcement): Promise<void>;
  /** Returns what was announced of this kind and not withdrawn, by id. */
  announcements(kind: string): Promise<Announcement[]>;
  /** Removes an announcement, unless it was renewed since. */
  withdraw(kind: string, announcement: Pick<Announcement, 'id' | 'renewals'>): Promise<void>;
  close(): Promise<void>;
}
