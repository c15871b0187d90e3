import { z } from 'zod';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import {
  eventFragment,
  pauseReason,
  watchEvents,
  type WatchEvent,
} from '../../../schemas/events/event-catcher/watch-events.ts';
import { watchedContract } from '../../../schemas/http/event-catcher/watched-contract.ts';
import type { StoredEvent } from '../../event-store/event-store.ts';
import { appOfClaimant, claimantText, type Claimant } from '../../chain/identifiers/claimant.ts';
import { toIso } from '../../primitives/clock.ts';
import { readModel } from '../read-model.ts';

export const watchDocument = watchedContract.omit({ state: true }).extend({
  fragment: eventFragment,
  /** The watch's claimants, as `claimantText` writes them, in the order of registration. */
  claims: z.array(z.string()),
  /**
   * Whether the watch has no claimant any more. Then only a caller who knows its id finds it, until it is registered
   * again.
   */
  isRemoved: z.boolean(),
  paused: pauseReason.nullable(),
  /** Whether its backfill has no bounds, because the operator resumed it. */
  isUnbounded: z.boolean(),
  /** Position of each claim's registration. */
  claimPositions: z.record(z.string(), z.int()),
  /** Position of the first registration. */
  createdPosition: z.int(),
  /** Position of the registration since which the watch has always had a claimant. */
  claimedSince: z.int(),
  /** Position since which it is read: of the first registration, or where it was resumed or registered again. */
  readSince: z.int(),
});
export type WatchDocument = z.infer<typeof watchDocument>;
/** A contract event that is watched, and its claimants. */
export interface Watch extends Omit<
  WatchDocument,
  'createdPosition' | 'claimedSince' | 'claimPositions' | 'readSince'
> {
  /** The start block that each claim asked for. Not in the read model. */
  claimStarts?: Readonly<Record<string, number>>;
}

/** Whether nothing more is read for the watch. */
export const isStopped = ({ isRemoved, paused }: Pick<Watch, 'isRemoved' | 'paused'>): boolean =>
  isRemoved || paused !== null;

/** Reason for a pause, as the watch's status shows it; `null` if its holder asked for the pause. */
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

/** Watched contract events, by watch id. */
export const watchesModel = readModel({
  name: 'watches-v6',
  collections: {
    watch: { name: 'watches-v6', document: watchDocument, indexes: [['chainId', 'contractAddress'], ['isRemoved']] },
  },
  events: watchEvents,
  touches: ({ data }) => ({ watch: data.watchId }),
  evolve: ({ watch: known }, event) => ({ watch: evolveWatchDocument(known, event) }),
});

/** Returns a watch as read models have it, after one more event of its stream. */
export const evolveWatchDocument = (
  known: WatchDocument | undefined,
  event: WatchEvent & Pick<StoredEvent, 'position' | 'time' | 'metadata'>,
): WatchDocument | undefined => {
  const evolved = evolveWatch(known, event, event.time);
  if (!evolved) return undefined;
  const { claimStarts: _, ...watch } = evolved;
  const { position } = event;
  const positions = watch.claims.map((claim) => [claim, known?.claimPositions[claim] ?? position]);
  const isStarted = known !== undefined && isStopped(known) && !isStopped(watch);
  return {
    ...watch,
    claimPositions: Object.fromEntries(positions) as Record<string, number>,
    createdPosition: known?.createdPosition ?? position,
    claimedSince: known?.isRemoved === false ? known.claimedSince : position,
    readSince: known && !isStarted ? known.readSince : position,
  };
};

/** A stored event has metadata; an event under validation may lack it. */
export type ClaimingEvent = WatchEvent & { metadata?: Pick<EventMetadata, 'actor'> };

/**
 * Returns a watch after one more event of its stream, for the read model and for the decision of a registration.
 * @param watch `undefined` before the first event
 * @param time Unix milliseconds of the event
 */
export const evolveWatch = (watch: Watch | undefined, event: ClaimingEvent, time: number): Watch | undefined => {
  if (event.type === 'ContractRegistered') {
    const { watchId: id, appId: _appId, userId: _userId, headBlock: _headBlock, ...made } = event.data;
    const { proxy, askedBlock = made.startBlock, ...registered } = made;
    const unstopped = { isRemoved: false, paused: null, isUnbounded: false };
    const claims = withClaim(watch?.claims ?? [], event);
    const claimStarts = { ...watch?.claimStarts, [claimOf(event)]: askedBlock };
    const claimed = { claims, claimStarts };
    if (!watch) return { id, ...registered, proxy: proxy ?? null, ...claimed, ...unstopped, createdAt: toIso(time) };
    const newest = proxy === undefined ? watch.proxy : proxy;
    return { ...watch, proxy: newest, ...claimed, isRemoved: false };
  }
  if (!watch) return undefined;
  const { type, data } = event;
  switch (type) {
    case 'WatchExtended':
    case 'WatchShortened':
      return { ...watch, startBlock: data.startBlock, claimStarts: claimStartsAfterMove(watch, data.startBlock) };
    case 'WatchPaused':
      return { ...watch, paused: data.reason };
    case 'WatchResumed':
      return { ...watch, paused: null, isUnbounded: watch.isUnbounded || data.isUnbounded };
    case 'WatchReplayRequested':
      return watch;
    case 'WatchRemoved': {
      const claims = withoutClaim(watch.claims, data);
      const kept = Object.entries(watch.claimStarts ?? {}).filter(([claim]) => claims.includes(claim));
      return { ...watch, claims, claimStarts: Object.fromEntries(kept), isRemoved: claims.length === 0 };
    }
  }
};

/**
 * The start block of each claim after the watch moved to `startBlock`. If no claim is known to start that early (older events lack
 * `askedBlock`), any claim may have asked for it, so all of them get it.
 */
const claimStartsAfterMove = ({ claims, claimStarts = {}, startBlock: before }: Watch, startBlock: number) => {
  const starts = claims.map((claim) => [claim, claimStarts[claim] ?? before] as const);
  const isKnown = starts.some(([, start]) => start <= startBlock);
  const moved = starts.map(([claim, start]) => [claim, isKnown ? Math.max(start, startBlock) : startBlock] as const);
  return Object.fromEntries(moved);
};

type Claiming = Extract<ClaimingEvent, { type: 'ContractRegistered' }>;

/** Returns the claims after a registration. */
const withClaim = (claims: readonly string[], event: Claiming): string[] => {
  const claim = claimOf(event);
  return claims.includes(claim) ? [...claims] : [...claims, claim];
};

const claimOf = (event: Claiming): string => claimantText(registrantOf(event));

/**
 * Returns whose claim a registration is. In events of the time when claims belonged to whole apps, it is that of the
 * registering user within the app.
 */
export const registrantOf = ({ data: { appId, userId }, metadata }: Claiming): Claimant => {
  const registrant = metadata?.actor.type === 'user' ? metadata.actor.id : null;
  return { appId, userId: userId === undefined ? registrant : userId };
};

/**
 * Returns the claims without the dropped one. When claims belonged to whole apps, an app had a single claim, whoever
 * dropped it.
 */
const withoutClaim = (
  claims: readonly string[],
  { appId, userId }: Extract<WatchEvent, { type: 'WatchRemoved' }>['data'],
): string[] => {
  if (userId === undefined) return claims.filter((claim) => appOfClaimant(claim) !== appId);
  const dropped = claimantText({ appId, userId });
  return claims.filter((claim) => claim !== dropped);
};
