import { isDeepStrictEqual } from 'node:util';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import type { EventStore, Position } from '../../../../shared/event-store/event-store.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import type { ReadModel } from '../../../../shared/read-models/read-model.ts';
import type { Correction, ReadStore, StoredDocument } from '../../../../shared/read-store/read-store.ts';
import { atOnce } from '../fold-up-to.ts';
import { FreshFold, type FreshFoldOptions } from './fresh-fold.ts';

const DOCUMENTS_PER_RANGE = 500;
/** A difference stands if it is found this often: a user may be erased, or an event deleted, while it is looked at. */
const ROUNDS = 3;
const REPAIRS_MAX = 5;
const BETWEEN_ROUNDS_MS = 100;
const STANDS_STILL_MAX_MS = 10_000;

export interface Difference {
  collection: string;
  id: string;
  /**
   * `changed`: the document is another; `missing`: it is not stored; `extra`: no event makes it; `misindexed`: queries
   * find it by something else than what it has, or do not find it. Then the id may be a place in an index instead.
   */
  kind: 'changed' | 'missing' | 'extra' | 'misindexed';
}

export interface VerifiedModel {
  name: string;
  /** The documents are those of all events up to here, or of later ones. */
  position: Position;
  compared: number;
  /** Those that stand; the first of them, where a most was given. */
  differences: Difference[];
  repaired: Difference[];
}

export interface VerificationOptions extends FreshFoldOptions {
  eventStore: Pick<EventStore, 'readAll' | 'head'>;
  readStore: Pick<ReadStore, 'find' | 'getMany' | 'position' | 'correct' | 'checkIndexes' | 'forgetReplaced'>;
  repair: boolean;
  signal: AbortSignal;
  /** How long a read model may stand still behind the event store. Default: 10 s. */
  standsStillMaxMs?: number;
  /** The comparison ends with the range that has this many. Default: it goes on to the last document. */
  differencesMax?: number;
  /** Called with how far the events are folded, and how many documents are compared. */
  report: (progress: { folded: Position; head: Position } | { compared: number }) => void;
}

/**
 * Compares every document of a read model with that of a fold from the first event, range by range of ids, while the
 * read model is in use. Both are compared at the position of the read model, which says that all events up to there are
 * in its documents: a document at or before it must be equal to that of the fold. For a later one, the fold goes on to
 * the position of that document.
 * @throws CannotStart if nothing keeps the read model up to date
 */
export const verifyModel = async (model: ReadModel, options: VerificationOptions): Promise<VerifiedModel> => {
  const fold = new FreshFold(model, options);
  try {
    return await new Verification(model, fold, options).run();
  } finally {
    fold.close();
  }
};

class Verification {
  private compared = 0;
  private readonly differences: Difference[] = [];
  private readonly repaired: Difference[] = [];

  constructor(
    private readonly model: ReadModel,
    private readonly fold: FreshFold,
    private readonly options: VerificationOptions,
  ) {}

  async run(): Promise<VerifiedModel> {
    await this.advance();
    for (const { name } of Object.values(this.model.collections)) {
      await this.collection(name);
      await this.indexes(name);
    }
    if (this.repaired.length > 0) await this.options.readStore.forgetReplaced();
    const { compared, differences, repaired } = this;
    return { name: this.model.name, position: this.fold.position, compared, differences, repaired };
  }

  private async collection(name: string): Promise<void> {
    const { differencesMax = Infinity, throttle = atOnce } = this.options;
    for (let after: string | undefined = ''; after !== undefined && this.differences.length < differencesMax;) {
      const from: string = after;
      const range = await throttle(() => this.range(name, from));
      await this.settle(name, range.suspects);
      this.compared += range.documents;
      this.options.report({ compared: this.compared });
      after = range.last;
    }
  }

  /** Compares the indexes of a collection with its documents, as they are after a repair of these. */
  private async indexes(collection: string): Promise<void> {
    const found = await this.misindexed(collection, this.options.repair);
    if (!this.options.repair) this.differences.push(...found);
    else if (found.length > 0) {
      this.repaired.push(...found);
      this.differences.push(...(await this.misindexed(collection, false)));
    }
  }

  private async misindexed(collection: string, repair: boolean): Promise<Difference[]> {
    const { readStore, signal, differencesMax = Infinity, throttle = atOnce } = this.options;
    const ids = new Set<string>();
    const parts = readStore.checkIndexes(collection, repair)[Symbol.asyncIterator]();
    for (;;) {
      signal.throwIfAborted();
      const part = await throttle(() => parts.next());
      if (part.done === true) break;
      for (const id of part.value) ids.add(id);
      if (ids.size + this.differences.length >= differencesMax) break;
    }
    return Array.from(ids, (id) => ({ collection, id, kind: 'misindexed' }));
  }

  /** @returns the ids of documents that may differ, and the last id of the range unless it is the last range */
  private async range(collection: string, after: string) {
    const stored = await this.options.readStore.find(collection, {
      ...{ filter: { id: { gt: after } }, sort: [['id', 'asc']], limit: DOCUMENTS_PER_RANGE },
    });
    const folded = this.fold.documents.after(collection, after, DOCUMENTS_PER_RANGE);
    const ends = [stored, folded].flatMap((page) => (page.length < DOCUMENTS_PER_RANGE ? [] : (page.at(-1)?.id ?? [])));
    const last = ends.toSorted(byBytes)[0];
    const within = (page: readonly StoredDocument[]) =>
      new Map(page.filter(({ id }) => last === undefined || byBytes(id, last) <= 0).map((each) => [each.id, each]));
    const [left, right] = [within(stored), within(folded)];
    const ids = [...new Set([...left.keys(), ...right.keys()])];
    const suspects = ids.filter((id) => !isDeepStrictEqual(left.get(id), right.get(id)));
    return { suspects, last, documents: left.size };
  }

  /** Looks at documents again until it is certain which of them differ, and repairs these if it shall. */
  private async settle(collection: string, suspects: readonly string[]): Promise<void> {
    let pairs = await this.persisting(collection, suspects);
    const found = pairs.map(toDifference(collection));
    for (let repairs = 0; this.options.repair && pairs.length > 0 && repairs < REPAIRS_MAX; repairs += 1) {
      await this.options.readStore.correct(collection, pairs.map(toCorrection));
      pairs = await this.persisting(
        collection,
        found.map(({ id }) => id),
      );
    }
    const persisting = new Map(pairs.map((pair) => [pair.id, pair]));
    for (const one of found) (persisting.has(one.id) ? this.differences : this.repaired).push(one);
  }

  private async persisting(collection: string, suspects: readonly string[]): Promise<Pair[]> {
    let pairs: Pair[] = [];
    let ids = suspects;
    for (let round = 1; round <= ROUNDS && ids.length > 0; round += 1) {
      if (round > 1) await pause(BETWEEN_ROUNDS_MS, this.options.signal);
      pairs = await this.differing(collection, ids);
      ids = pairs.map(({ id }) => id);
    }
    return pairs;
  }

  /** Of these documents, those that differ from the fold at their own positions. */
  private async differing(collection: string, ids: readonly string[]): Promise<Pair[]> {
    await this.advance();
    const { eventStore, readStore, signal, report, throttle = atOnce } = this.options;
    const stored = await throttle(() => readStore.getMany(collection, ids));
    const folded = await this.fold.documents.getMany(collection, ids);
    const pairs = ids
      .map((id) => ({ id, stored: stored.get(id), folded: folded.get(id) }))
      .filter(isDifferent)
      .toSorted((one, other) => positionOf(one) - positionOf(other));
    const [from, head] = [this.fold.position, await eventStore.head()];
    for (const pair of pairs) {
      const position = positionOf(pair);
      // No event has a position after the head.
      if (position <= from || position > head) continue;
      await this.fold.advanceTo(position, signal, (reached) => {
        report({ folded: reached, head });
      });
      pair.folded = (await this.fold.documents.getMany(collection, [pair.id])).get(pair.id);
    }
    return pairs.filter(isDifferent);
  }

  /** Folds up to the position of the read model, once this has reached the head that the event store has now. */
  private async advance(): Promise<void> {
    const { eventStore, readStore, signal, report, standsStillMaxMs = STANDS_STILL_MAX_MS } = this.options;
    signal.throwIfAborted();
    const head = await eventStore.head();
    let [position, movedAt] = [await readStore.position(this.model.name), performance.now()];
    while (position < head) {
      await pause(BETWEEN_ROUNDS_MS, signal);
      signal.throwIfAborted();
      const now = await readStore.position(this.model.name);
      if (now !== position) [position, movedAt] = [now, performance.now()];
      if (performance.now() - movedAt > standsStillMaxMs) throw standsStill(this.model.name, head - position);
    }
    await this.fold.advanceTo(position, signal, (folded) => {
      report({ folded, head: position });
    });
  }
}

interface Pair {
  id: string;
  stored: StoredDocument | undefined;
  folded: StoredDocument | undefined;
}

const isDifferent = ({ stored, folded }: Pair): boolean => !isDeepStrictEqual(stored, folded);
const positionOf = ({ stored }: Pair): Position => stored?.position ?? 0;

/** The order of ids in every store. */
const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

const toDifference =
  (collection: string) =>
  ({ id, stored, folded }: Pair): Difference => ({
    ...{ collection, id, kind: !stored ? 'missing' : folded ? 'changed' : 'extra' },
  });

const toCorrection = ({ id, stored, folded }: Pair): Correction => ({
  id,
  expected: stored?.position,
  correct: folded,
});

const standsStill = (name: string, lag: number): CannotStart =>
  new CannotStart(
    `${name} is ${String(lag)} behind the event store and does not move: start a projector, and see its log`,
  );
