import type { WatchEvent } from '../../../schemas/events/watch-events.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Watch } from '../../../shared/read-models/watches.ts';
import { about } from './watch.ts';

type Known = Watch | undefined;
/** Who wants a watch to change: an app, or the operator by the command line. */
export type Holder = { kind: 'app'; appId: string } | { kind: 'operator' };

/** Drops the claim of an app. Without a claim nothing more is read. @throws Refusal watch_not_found */
export const removeClaim = (known: Known, appId: string): WatchEvent[] => {
  const watch = claimed(known);
  if (!watch.apps.includes(appId)) throw new Refusal('watch_not_found', 'the app has no claim on this registration');
  return [{ type: 'WatchRemoved', data: { ...about(watch), appId } }];
};

/** Pauses a watch for its only holder. The operator's pause replaces any other. @throws Refusal watch_not_found, forbidden */
export const pauseWatch = (known: Known, by: Holder): WatchEvent[] => {
  const watch = heldBy(known, by);
  const isPaused = by.kind === 'operator' ? watch.paused === 'operator' : watch.paused !== null;
  return isPaused ? [] : [{ type: 'WatchPaused', data: { ...about(watch), reason: by.kind } }];
};

/**
 * Ends a pause. Only the operator ends one that an app did not want; from then on the watch has no bounds, whether it was paused or
 * one of its extensions stopped.
 * @throws Refusal watch_not_found, forbidden, quota_exceeded
 */
export const resumeWatch = (known: Known, by: Holder): WatchEvent[] => {
  const watch = heldBy(known, by);
  const { paused } = watch;
  if (paused === null && (by.kind === 'app' || watch.isUnbounded)) return [];
  if (by.kind === 'app' && paused === 'operator') {
    throw new Refusal('forbidden', 'the operator paused this registration: ask the operator to resume it');
  }
  if (by.kind === 'app' && (paused === 'records' || paused === 'blocks')) throw beyondBackfill(paused);
  return [{ type: 'WatchResumed', data: { ...about(watch), isUnbounded: by.kind === 'operator' } }];
};

/** The backfill of a watch met a bound. */
export const stopBackfill = (known: Known, reason: 'records' | 'blocks'): WatchEvent[] =>
  known && !known.isRemoved && known.paused === null && !known.isUnbounded
    ? [{ type: 'WatchPaused', data: { ...about(known), reason } }]
    : [];

/** Why a watch is paused, as its status says it; `null` where an app wanted it. */
export const pauseText = (reason: Watch['paused']): string | null => {
  switch (reason) {
    case 'records':
      return 'the backfill has as many records as one registration may have: ask the operator to resume it';
    case 'blocks':
      return 'the backfill has as many blocks as one registration may have: ask the operator to resume it';
    case 'operator':
      return 'the operator paused this registration';
    case 'app':
    case null:
      return null;
  }
};

/** Why an extension backwards of a watch is not read any further, though the watch is. */
export const extensionText = (reason: 'records' | 'blocks'): string =>
  `what was asked for before the registration has as many ${reason} as one may have: ask the operator to resume it`;

const beyondBackfill = (reason: 'records' | 'blocks'): Refusal =>
  new Refusal('quota_exceeded', pauseText(reason) ?? '', { members: { rule: ruleOf[reason] } });

const ruleOf = { records: 'backfillRecords', blocks: 'backfillBlocks' } as const;

const claimed = (watch: Known): Watch => {
  if (!watch || watch.isRemoved) throw new Refusal('watch_not_found', 'no registration has this id');
  return watch;
};

/** The watch, for its only holder or the operator. @throws Refusal watch_not_found, forbidden */
export const heldBy = (known: Known, by: Holder): Watch => {
  const watch = claimed(known);
  if (by.kind === 'operator' || (watch.apps.length === 1 && watch.apps[0] === by.appId)) return watch;
  const detail = watch.apps.includes(by.appId)
    ? 'other apps hold this registration, too: drop your own claim on it instead'
    : 'the app does not hold this registration';
  throw new Refusal('forbidden', detail);
};
