import type { WatchEvent } from '../../../../schemas/events/event-catcher/watch-events.ts';
import { appOfClaimant, claimantText, type Claimant } from '../../../../shared/chain/identifiers/claimant.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { pauseText, type Watch } from '../../../../shared/read-models/event-catcher/watches.ts';
import { about, firstWanted, startChange } from './watch.ts';

type Known = Watch | undefined;
/** Who changes a watch: a claimant, or the operator by the command line. */
export type Holder = { kind: 'claimant'; claimant: Claimant } | { kind: 'operator' };

/**
 * Drops a claim. A watch without claims is not read any more. Otherwise it now begins where the remaining claimants
 * want it to.
 * @throws Refusal watch_not_found
 */
export const removeClaim = (known: Known, { appId, userId }: Claimant): WatchEvent[] => {
  const watch = claimed(known);
  const claim = claimantText({ appId, userId });
  if (!watch.claims.includes(claim)) throw new Refusal('watch_not_found', 'you have no claim on this registration');
  const removal: WatchEvent = { type: 'WatchRemoved', data: { ...about(watch), appId, userId } };
  return [removal, ...startChange(watch, firstWanted(watch, claim))];
};

/** Pauses a watch. The operator's pause replaces any other. @throws Refusal watch_not_found, forbidden */
export const pauseWatch = (known: Known, by: Holder): WatchEvent[] => {
  const watch = heldBy(known, by);
  const isOperator = by.kind === 'operator';
  const isPaused = isOperator ? watch.paused === 'operator' : watch.paused !== null;
  return isPaused ? [] : [{ type: 'WatchPaused', data: { ...about(watch), reason: isOperator ? 'operator' : 'app' } }];
};

/**
 * Ends a pause. Only the operator can end a pause that no claimant asked for. After that the watch has no bounds,
 * whether the watch itself was paused or only an extension of it.
 * @throws Refusal watch_not_found, forbidden, quota_exceeded
 */
export const resumeWatch = (known: Known, by: Holder): WatchEvent[] => {
  const watch = heldBy(known, by);
  const { paused } = watch;
  if (paused === null && (by.kind !== 'operator' || watch.isUnbounded)) return [];
  if (by.kind !== 'operator' && paused === 'operator') {
    throw new Refusal('forbidden', 'the operator paused this registration: ask the operator to resume it');
  }
  if (by.kind !== 'operator' && (paused === 'records' || paused === 'blocks')) throw beyondBackfill(paused);
  return [{ type: 'WatchResumed', data: { ...about(watch), isUnbounded: by.kind === 'operator' } }];
};

/** Pauses a watch whose backfill met a bound. */
export const stopBackfill = (known: Known, reason: 'records' | 'blocks'): WatchEvent[] =>
  known && !known.isRemoved && known.paused === null && !known.isUnbounded
    ? [{ type: 'WatchPaused', data: { ...about(known), reason } }]
    : [];

/** Why an extension backwards is not read any further, though the watch is. */
export const extensionText = (reason: 'records' | 'blocks'): string =>
  `what was asked for before the registration has as many ${reason} as one may have: ask the operator to resume it`;

const beyondBackfill = (reason: 'records' | 'blocks'): Refusal =>
  new Refusal('quota_exceeded', pauseText(reason) ?? '', { members: { rule: ruleOf[reason] } });

const ruleOf = { records: 'backfillRecords', blocks: 'backfillBlocks' } as const;

const claimed = (watch: Known): Watch => {
  if (!watch || watch.isRemoved) throw new Refusal('watch_not_found', 'no registration has this id');
  return watch;
};

/**
 * Returns the watch if the caller may change it: the operator may, the only claimant may, and an app may if all claims
 * belong to it or its users.
 * @throws Refusal watch_not_found, forbidden
 */
export const heldBy = (known: Known, by: Holder): Watch => {
  const watch = claimed(known);
  if (by.kind === 'operator') return watch;
  const own = claimantText(by.claimant);
  const { appId, userId } = by.claimant;
  const isInPower = (claim: string) => claim === own || (userId === null && appOfClaimant(claim) === appId);
  if (watch.claims.every(isInPower)) return watch;
  const detail = watch.claims.includes(own)
    ? 'others claim this registration, too: drop your own claim on it instead'
    : 'you have no claim on this registration';
  throw new Refusal('forbidden', detail);
};
