import { setImmediate } from 'node:timers/promises';
import type { EventSealing } from '../../../shared/event-store/transactions/event-sealing.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { WorkerFoundation } from '../../../shared/host/foundation.ts';
import { inPieces } from '../../../shared/primitives/in-pieces.ts';
import { isAborted } from '../../../shared/primitives/waiting/is-aborted.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { untilAborted } from '../../../shared/primitives/waiting/until-aborted.ts';
import type { ReadModel } from '../../../shared/read-models/read-model.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { FoldUpTo } from './fold-up-to.ts';
import { BatchProjector, type Projected } from './project-batch.ts';

/**
 * A version that queries do not read is filled by as many events at a time. Those that queries do read share its thread, and
 * go on in between: who has written something waits for them. Fewer would make too many parts of a segment in the embedded
 * read store's index (`PARTS_MAX`).
 */
export const EVENTS_PER_TICK = 500;
/** Events that arrive within this time are stored together, because a small batch costs as much as a large one. */
const BATCH_INTERVAL_MS = 20;
const SLOW_STEP_MS = 100;

export interface FollowOptions extends Pick<WorkerFoundation, 'eventStore' | 'readStore'> {
  personalData: Pick<EventSealing, 'open'>;
}

/**
 * Keeps one version of a read model up to date, from its checkpoint on, until the signal aborts.
 * @param eventsPerTick after as many events everything else in this thread goes on
 */
export const followEvents = async (
  model: ReadModel,
  { eventStore, readStore, personalData }: FollowOptions,
  signal: AbortSignal,
  reportRunning: () => void,
  eventsPerTick = Number.MAX_SAFE_INTEGER,
): Promise<void> => {
  const checkpoint = await readStore.position(model.name);
  const projector = new BatchProjector(model, readStore);
  const forgetting = forgetReplacedBeside(readStore, signal);
  const working = forgetting.signal;
  // The last process may have ended after an erasure and before this step.
  if (erasingTypesOf(model).length > 0) forgetting.begin();
  try {
    for await (const batch of eventStore.subscribeAll(checkpoint, { types: model.eventTypes }, working)) {
      const nextAt = performance.now() + BATCH_INTERVAL_MS;
      const events = model.keepsSealed ? batch.events : await personalData.open(batch.events);
      for (const piece of piecesOf({ ...batch, events }, eventsPerTick)) {
        await projector.project(piece, working);
        await setImmediate();
      }
      reportRunning();
      if (batch.caughtUp) {
        await pause(Math.max(0, nextAt - performance.now()), working);
        // A failed write must restart the loop even if no further event comes.
        await projector.flush();
      }
      if (batch.events.some(erases)) {
        await projector.flush();
        forgetting.begin();
      }
    }
    forgetting.throwIfFailed();
  } finally {
    forgetting.end();
    // Another process may start to work as soon as this returns.
    await projector.flush();
  }
};

/** Splits a batch into pieces, each with the position that it reaches. */
function* piecesOf({ events, position, newestPermanent }: Projected, eventsMax: number): Generator<Projected> {
  const pieces = inPieces(events, eventsMax);
  const last = pieces.pop() ?? [];
  for (const piece of pieces) yield { events: piece, position: piece.at(-1)?.position ?? 0 };
  yield { events: last, position, newestPermanent };
}

/** Does the same with so many events per second at most, which leaves the stores to others. */
export const followSlowly = async (
  model: ReadModel,
  { eventStore, readStore, personalData }: FollowOptions,
  signal: AbortSignal,
  rate: number,
): Promise<void> => {
  const checkpoint = await readStore.position(model.name);
  const fold = new FoldUpTo(model, readStore, { eventStore, personalData }, checkpoint);
  while (!isAborted(signal)) {
    const nextAt = performance.now() + SLOW_STEP_MS;
    const events = await fold.step(await eventStore.head(), Math.ceil((rate * SLOW_STEP_MS) / 1_000));
    if (events.some(erases)) await untilAborted(readStore.forgetReplaced(), signal);
    await pause(Math.max(nextAt - performance.now(), (1_000 * events.length) / rate), signal);
  }
};

/**
 * Waits until the signal aborts. Meanwhile brings the version as far as each erasure, because its documents may have
 * data of the person who was erased.
 */
export const followErasures = async (
  model: ReadModel,
  { eventStore, readStore, personalData }: FollowOptions,
  signal: AbortSignal,
): Promise<void> => {
  const types = erasingTypesOf(model);
  if (types.length === 0) {
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    return;
  }
  const checkpoint = await readStore.position(model.name);
  const fold = new FoldUpTo(model, readStore, { eventStore, personalData }, checkpoint);
  for await (const batch of eventStore.subscribeAll(checkpoint, { types }, signal)) {
    const erasure = batch.events.findLast(erases);
    if (!erasure) continue;
    await fold.advanceTo(erasure.position, signal, () => undefined);
    await untilAborted(readStore.forgetReplaced(), signal);
  }
};

/**
 * Runs beside the projection, because the store may have to wait for readers of replaced documents. A failure ends the
 * projection.
 */
const forgetReplacedBeside = (readStore: Pick<ReadStore, 'forgetReplaced'>, signal: AbortSignal) => {
  const ending = new AbortController();
  const working = AbortSignal.any([signal, ending.signal]);
  let forgotten: Promise<void> = Promise.resolve();
  return {
    signal: working,
    begin: () => {
      forgotten = forgotten.then(() => untilAborted(readStore.forgetReplaced(), working));
      forgotten.catch((error: unknown) => {
        ending.abort(error);
      });
    },
    throwIfFailed: () => {
      ending.signal.throwIfAborted();
    },
    end: () => {
      ending.abort();
    },
  };
};

/** Events after which documents contain less personal data than before. */
const erasingTypesOf = ({ eventTypes }: ReadModel): string[] =>
  ['UserErased', 'SessionRevoked'].filter((type) => eventTypes.includes(type));

const erases = ({ type, data }: StoredEvent): boolean =>
  type === 'UserErased' || (type === 'SessionRevoked' && data['reason'] === 'user_erased');
