import type { Position } from '../../../../shared/event-store/event-store.ts';
import type { ReadModel } from '../../../../shared/read-models/read-model.ts';
import type { ReadStore, StoredDocument } from '../../../../shared/read-store/read-store.ts';
import { FoldUpTo, type FoldOptions } from '../fold-up-to.ts';

/** Where the documents of a fold are kept meanwhile. */
export interface Scratch extends Pick<ReadStore, 'getMany' | 'apply'> {
  /** Returns documents in the order of ids, from the first one after this id. */
  after(collection: string, id: string, limit: number): StoredDocument[];
  close(): void;
}

export interface FreshFoldOptions extends FoldOptions {
  makeScratch: (collections: readonly string[]) => Scratch;
}

/** A read model folded from the first event up to a position, beside the read store. */
export class FreshFold {
  readonly documents: Scratch;
  private readonly fold: FoldUpTo;

  constructor(model: ReadModel, options: FreshFoldOptions) {
    this.documents = options.makeScratch(Object.values(model.collections).map(({ name }) => name));
    this.fold = new FoldUpTo(model, this.documents, options, 0);
  }

  get position(): Position {
    return this.fold.position;
  }

  advanceTo(...goal: Parameters<FoldUpTo['advanceTo']>): Promise<void> {
    return this.fold.advanceTo(...goal);
  }

  close(): void {
    this.documents.close();
  }
}
