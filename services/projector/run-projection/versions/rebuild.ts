import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import { isAborted } from '../../../../shared/primitives/waiting/is-aborted.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import type { ReadModel } from '../../../../shared/read-models/read-model.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import type { StoredVersions } from '../../../../shared/read-store/versions/stored-versions.ts';
import { verifyModel, type VerificationOptions, type VerifiedModel } from '../verification/verify-model.ts';
import { changeVersions, nameOf, withVersion } from './change-versions.ts';
import { modelInVersion } from './version-names.ts';

const POLL_MS = 200;
/** How long a projector may need to begin, or to go on. */
const STANDS_STILL_MAX_MS = 15_000;

export interface RebuildOptions extends Pick<
  VerificationOptions,
  'eventStore' | 'personalData' | 'makeScratch' | 'report'
> {
  /** The store in which each version has its own names. */
  readStore: ReadStore;
  rate: number | null;
  signal: AbortSignal;
  standsStillMaxMs?: number;
}

export interface Rebuilt {
  version: string;
  /** `paused`: it was interrupted. The same command goes on. `differs`: it is not what the events make of it. */
  state: 'paused' | 'ready' | 'differs';
  verified: VerifiedModel | null;
}

/**
 * Has projectors fill a new version of a read model, or goes on with one that is not complete, beside the one that is
 * read. Then compares it with a fresh fold, and repairs it if need be. From then on it is kept up to date, and can be switched to.
 */
export const rebuild = async (model: ReadModel, options: RebuildOptions): Promise<Rebuilt> => {
  const { readStore, rate, signal } = options;
  const begun = await changeVersions(model, readStore, (known) => begin(known, rate));
  const number = unfinished(begun) ?? begun.current;
  const version = nameOf(model, number);
  try {
    const filled = await modelInVersion(model, number, readStore);
    await untilFilled(filled.name, options);
    const verified = await verifyModel(filled, { ...options, repair: true });
    if (verified.differences.length > 0) return { version, state: 'differs', verified };
    await changeVersions(model, readStore, (known) => withVersion(known, number, { state: 'ready', rate: null }));
    return { version, state: 'ready', verified };
  } catch (error) {
    if (!isAborted(signal)) throw error;
    await changeVersions(model, readStore, (known) => withVersion(known, number, { state: 'paused' }));
    return { version, state: 'paused', verified: null };
  }
};

const unfinished = ({ versions }: StoredVersions): number | undefined =>
  versions.find(({ state }) => state === 'filling' || state === 'paused')?.number;

const begin = (known: StoredVersions, rate: number | null): StoredVersions => {
  const number = unfinished(known);
  if (number !== undefined) return withVersion(known, number, { state: 'filling', rate });
  const added = { number: known.next, state: 'filling', rate } as const;
  return { ...known, next: known.next + 1, versions: [...known.versions, added] };
};

/** Waits until a projector has brought the version to the head. */
const untilFilled = async (
  projection: string,
  { eventStore, readStore, signal, report, standsStillMaxMs = STANDS_STILL_MAX_MS }: RebuildOptions,
): Promise<void> => {
  let [reached, movedAt] = [-1, performance.now()];
  for (;;) {
    signal.throwIfAborted();
    const head = await eventStore.head();
    const position = await readStore.position(projection);
    if (position !== reached) [reached, movedAt] = [position, performance.now()];
    report({ folded: reached, head });
    if (position >= head) return;
    if (performance.now() - movedAt > standsStillMaxMs)
      throw new CannotStart(
        `nothing fills ${projection}, which is at ${String(reached)} of ${String(head)}: start a projector, then repeat this command`,
      );
    await pause(POLL_MS, signal);
  }
};
