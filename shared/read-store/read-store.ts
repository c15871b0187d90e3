import type { JsonObject } from '../../schemas/json.ts';
import type { Position } from '../event-store/event-store.ts';

/** A collection is declared with the members that queries filter and sort by: each is a top-level member of the document. */
export interface CollectionDefinition {
  name: string;
  /** Indexed together, in this order; the first of them decide which queries are fast. */
  indexes: readonly (readonly string[])[];
}

/** Replaces a whole document, if what is stored is older than `position`. */
export interface DocumentChange {
  collection: string;
  id: string;
  /** Position of the newest event that this document knows. */
  position: Position;
  document: JsonObject;
  /** Nothing was there when it was made. Only a hint: right or wrong, the same is stored. */
  isNew?: boolean;
}

type Scalar = string | number | boolean | null;
/** All members must hold. A dotted name reaches into the document; `id` is the document's id in the collection. */
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

/** Whose turn it is to do what only one may do at a time. */
export interface Lease {
  /** Who holds it; `null`: it was given back. */
  holder: string | null;
  /** Grows whenever the holder changes. */
  epoch: number;
  /** Grows while the holder is alive. */
  renewals: number;
}

export interface ReadStore {
  /** Creates what is missing of a projection's collections and indexes. */
  define(collections: readonly CollectionDefinition[]): Promise<void>;
  /**
   * Applies a batch and the projection's position as one unit of effect: a change whose position is not newer than the
   * stored document's changes nothing, however often it is delivered; of two at one position, which a fold makes the same,
   * either stays. The position never goes back. Where the store cannot do all at once, the changes of one collection are
   * stored before those of the next, in the order in which the collections are first named, and the position last: a crash
   * leaves nothing that applying it again does not mend.
   */
  apply(projection: string, changes: readonly DocumentChange[], position: Position): Promise<void>;
  /** How far a projection has come; 0 when it never ran. */
  position(projection: string): Promise<Position>;
  getMany(collection: string, ids: readonly string[]): Promise<Map<string, StoredDocument>>;
  find(collection: string, options: FindOptions): Promise<StoredDocument[]>;
  count(collection: string, filter: Filter): Promise<number>;
  lease(name: string): Promise<Lease | undefined>;
  /** Puts `next` in the place of `expected` (`undefined`: of nothing), in one step. @returns whether that was what stood there */
  replaceLease(name: string, expected: Lease | undefined, next: Lease): Promise<boolean>;
  close(): Promise<void>;
}
