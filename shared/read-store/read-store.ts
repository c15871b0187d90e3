import type { JsonObject } from '../../schemas/json.ts';
import type { Coordination } from '../coordination/coordination.ts';
import type { EventPlace, Position } from '../event-store/event-store.ts';
import type { FormerCollection } from './former-collections/former-collection.ts';
import type { QueryBudget } from './query-budget.ts';
import type { StoredVersions } from './versions/stored-versions.ts';

/** A collection, declared with the members that queries filter and sort by, each a top-level member of the document. */
export interface CollectionDefinition {
  name: string;
  /** Members indexed together, in this order. The first members decide which queries are fast. */
  indexes: readonly (readonly string[])[];
  /** Can only be added together with the collection: documents stored before would not be found. */
  search?: SearchIndex | undefined;
  derived?: Derived | undefined;
}

/**
 * Members that normally follow from the document's other members, so that a store need not store them. Never used to
 * filter or sort. Each is a pure function of the other members, and changes only with a new name of the collection.
 */
export type Derived<Document = JsonObject> = {
  readonly [Member in keyof Document]?: (document: Document) => Document[Member];
};

/**
 * An inverted index: finds a document by what it contains. Each of these is a pure function of the document and its id,
 * and returns safe integers.
 */
export interface SearchIndex<Document = JsonObject> {
  /**
   * The part of the index to which the document belongs. A segment has some thousand documents, stored soon after each
   * other. Once the next segment begins, few documents are added to it, so that it can be stored in the form that is
   * read best.
   */
  segment: (id: string, document: Document) => number;
  /** Without duplicates. */
  terms: (id: string, document: Document) => readonly number[];
  /** Sort key of the results: at least 0, less than the greatest safe integer. */
  order: (id: string, document: Document) => number;
}

export interface SearchedSegment {
  segment: number;
  terms: readonly number[];
  /** Least and greatest order of the segment's documents, if known, so that a search outside of them can skip it. */
  least?: number;
  greatest?: number;
  /** Differs whenever the segment's documents differ. A store may cache a segment under its version. */
  version?: number;
}

export interface Search {
  /**
   * A document matches if it is in the segment of one of these, and has all of its terms. Each has the same number of
   * terms.
   */
  anyOf: readonly SearchedSegment[];
  /** The least and the greatest order, inclusive. */
  from: number;
  to: number;
}

/** Which of the matching documents to return. */
export interface SearchPage {
  direction: 'asc' | 'desc';
  limit: number;
  /** Returns only documents after this one. */
  after?: Hit | undefined;
}

/** Returns the part of a search's range after a document. */
export const rangeAfter = (
  { from, to }: Pick<Search, 'from' | 'to'>,
  direction: SearchPage['direction'],
  after: SearchPage['after'],
): Pick<Search, 'from' | 'to'> => {
  if (!after) return { from, to };
  return direction === 'asc' ? { from: Math.max(from, after.order), to } : { from, to: Math.min(to, after.order) };
};

/** A found document. The reference is valid until the document is stored again. */
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
  /**
   * Whether the document did not exist when the change was made. Only a hint: the result is the same if it is wrong.
   */
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

export interface CollectionSize {
  documents: number;
  /** What the documents, before compression, and their indexes occupy in the store. */
  bytes: number;
}

/** Replaces one document whatever its position is, adds one, or removes one. */
export interface Correction {
  id: string;
  /** The position of the stored document; `undefined`: there is none. If it is another by now, nothing is changed. */
  expected: Position | undefined;
  /** `undefined`: the document is removed. */
  correct: StoredDocument | undefined;
}

/** How far a projection has worked. */
export interface Checkpoint {
  position: Position;
  /**
   * The newest event up to the position that the event store never deletes. Absent in checkpoints of earlier versions.
   */
  event?: EventPlace;
}

export interface ReadStore extends Coordination {
  /** Creates missing collections and indexes. */
  define(collections: readonly CollectionDefinition[]): Promise<void>;
  /**
   * Applies a batch and the projection's position as one unit of effect. A change whose position is not newer than the
   * stored document's has no effect, however often it is delivered; two changes at one position are the same by
   * construction of the fold, and either is kept. The position never decreases. A store without transactions stores the
   * changes of one collection before those of the next, in the order in which the collections are first named, and the
   * position last, so that applying the batch again repairs the effects of a crash.
   * @param event the newest permanent event up to the position; default: the stored one stays
   */
  apply(projection: string, changes: readonly DocumentChange[], position: Position, event?: EventPlace): Promise<void>;
  /**
   * Removes replaced content from the store's files, as far as the store manages them itself: afterwards no log
   * contains documents of an erased user.
   */
  forgetReplaced(): Promise<void>;
  /**
   * Replaces documents that are not what their events make of them. Unlike `apply`, it takes no document for right
   * because of its position.
   */
  correct(collection: string, corrections: readonly Correction[]): Promise<void>;
  /**
   * Compares what the store keeps beside the documents of a collection to find them with the documents, a part at a
   * time. Yields after each part what differs: ids of documents, or a place in an index; the same may come in several
   * parts. A store that keeps nothing of the kind has nothing to compare.
   * @param repair whether it is made to fit the documents
   */
  checkIndexes(collection: string, repair: boolean): AsyncIterable<readonly string[]>;
  /** Returns the sizes of these collections, by name; of those that exist. May take long: for operators only. */
  sizes(collections: readonly string[]): Promise<ReadonlyMap<string, CollectionSize>>;
  /** Returns the versions of each read model that was ever rebuilt, by the name of the model. */
  versions(): Promise<ReadonlyMap<string, StoredVersions>>;
  /**
   * Replaces the versions of a read model in one step.
   * @returns whether `expected` was what is stored
   */
  replaceVersions(model: string, expected: StoredVersions | undefined, next: StoredVersions): Promise<boolean>;
  /** Removes collections with all their documents, and the checkpoint of their projection. */
  remove(projection: string, collections: readonly string[]): Promise<void>;
  /** Returns the collections of earlier versions: they have, or had, documents, and are not among the current ones. */
  formerCollections(current: readonly string[]): Promise<FormerCollection[]>;
  /**
   * Removes every document of these users from the collections of earlier versions: documents with such an id, or such
   * a member `userId`. Works in steps, some of which may be done when it fails: repeat it then.
   */
  removeFromFormer(current: readonly string[], userIds: readonly string[]): Promise<void>;
  /**
   * Records with a projection's checkpoint the digest of its documents and fold, unless one is recorded.
   * @returns the recorded digest
   */
  keepDigest(projection: string, digest: string): Promise<string>;
  /** Returns the position of a projection; 0 if it never ran. */
  position(projection: string): Promise<Position>;
  /** Returns the checkpoints of all projections that ever ran, by name. */
  checkpoints(): Promise<ReadonlyMap<string, Checkpoint>>;
  getMany(collection: string, ids: readonly string[]): Promise<Map<string, StoredDocument>>;
  find(collection: string, options: FindOptions): Promise<StoredDocument[]>;
  count(collection: string, filter: Filter): Promise<number>;
  /**
   * Finds documents by the search index of a collection. Documents of equal order have a stable sequence too.
   * @throws Refusal dependency_unavailable when the time of the budget is over, as the next two methods do
   */
  search(collection: string, search: Search & SearchPage, budget: QueryBudget): Promise<Hit[]>;
  countFound(collection: string, search: Search, budget: QueryBudget): Promise<number>;
  /** Returns found documents, in the order of the references. */
  getFound(collection: string, references: readonly Hit['reference'][], budget: QueryBudget): Promise<StoredDocument[]>;
  close(): Promise<void>;
}
