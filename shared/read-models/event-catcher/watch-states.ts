import { z } from 'zod';
import { watchEvents } from '../../../schemas/events/event-catcher/watch-events.ts';
import { readModel } from '../read-model.ts';
import { evolveWatchDocument, watchDocument, type WatchDocument } from './watches.ts';

const named = { chainId: true, contractAddress: true, eventName: true, eventSignature: true, topic0: true } as const;

const currentState = watchDocument.extend({
  /** Position since which start block, proxy, pause, and whether it is claimed, are as they are. */
  stateSince: z.int(),
  /** Position of the newest event of its stream. */
  newestPosition: z.int(),
});
type CurrentState = z.infer<typeof currentState>;

/** A state in which a watch was, while it had a claimant. */
const formerState = watchDocument
  .pick({ ...named, startBlock: true, proxy: true, paused: true, claimedSince: true })
  .extend({
    watchId: z.string(),
    /** Position of the event that began it. */
    since: z.int(),
    /** Position of the event that ended it. */
    until: z.int(),
  });

/** The claims on a watch that one event dropped. */
const formerClaims = watchDocument.pick({ ...named, claimPositions: true }).extend({
  watchId: z.string(),
  /** Position of the event that dropped them. */
  until: z.int(),
});

/**
 * What watches are, and were, for queries as of an earlier position. Beside `watches`, which would have to be filled
 * anew, while registrations wait for it. Each event of a watch may end one state, and drop claims:
 *
 *     event      1 registered   5 paused         9 resumed
 *     former     1 ≤ … < 5      5 ≤ …, paused    < 9
 *     current                                    9 ≤ …
 */
export const watchStatesModel = readModel({
  name: 'watch-states-v1',
  collections: {
    // Stored first: a state, or a claim, that the watch no longer has is found here.
    formerState: {
      name: 'watch-former-states-v1',
      document: formerState,
      indexes: [['chainId', 'contractAddress'], ['watchId'], ['until', 'since']],
    },
    formerClaims: {
      name: 'watch-former-claims-v1',
      document: formerClaims,
      indexes: [['chainId', 'contractAddress'], ['watchId']],
    },
    current: {
      name: 'watch-current-states-v1',
      document: currentState,
      // In this order SQLite finds the watches of a contract by the contract, and not among all that are claimed.
      indexes: [['isRemoved'], ['chainId', 'contractAddress']],
    },
  },
  events: watchEvents,
  touches: ({ data: { watchId }, position }) => {
    const ended = `${watchId}:${String(position)}`;
    return { formerState: ended, formerClaims: ended, current: watchId };
  },
  evolve: ({ current: known }, event) => {
    const { position } = event;
    // After a crash between the writes, or in a repeated batch, the event may be folded already.
    if (known && known.newestPosition >= position) return {};
    const evolved = evolveWatchDocument(known, event);
    if (!evolved) return {};
    const next = { ...evolved, stateSince: position, newestPosition: position };
    if (!known) return { current: next };
    const isSame = isSameState(known, next);
    return {
      ...(!isSame && !known.isRemoved && { formerState: endedState(known, position) }),
      ...droppedClaims(known, next, position),
      current: isSame ? { ...next, stateSince: known.stateSince } : next,
    };
  },
});

const isSameState = (one: WatchDocument, other: WatchDocument): boolean =>
  one.startBlock === other.startBlock &&
  one.paused === other.paused &&
  one.isRemoved === other.isRemoved &&
  one.claimedSince === other.claimedSince &&
  one.proxy?.kind === other.proxy?.kind &&
  one.proxy?.implementation === other.proxy?.implementation;

const nameOf = ({ id: watchId, chainId, contractAddress, eventName, eventSignature, topic0 }: WatchDocument) => ({
  ...{ watchId, chainId, contractAddress, eventName, eventSignature, topic0 },
});

const endedState = (watch: CurrentState, until: number): z.infer<typeof formerState> => {
  const { startBlock, proxy, paused, claimedSince, stateSince: since } = watch;
  return { ...nameOf(watch), startBlock, proxy, paused, claimedSince, since, until };
};

const droppedClaims = (watch: CurrentState, next: CurrentState, until: number) => {
  const dropped = Object.entries(watch.claimPositions).filter(([claim]) => !next.claims.includes(claim));
  if (dropped.length === 0) return {};
  return { formerClaims: { ...nameOf(watch), claimPositions: Object.fromEntries(dropped), until } };
};
