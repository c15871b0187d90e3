import { invalid, Refusal } from '../errors/refusal.ts';
import { bareSignature, canonicalSignature, parseEventSignature } from './event-signature.ts';

interface Named {
  id: string;
  eventName: string;
  /** Canonical. */
  eventSignature: string;
  /** Position of the first registration. */
  createdPosition: number;
  /** Position of each app's registration, and of each user's by a wallet. */
  appPositions: Readonly<Record<string, number>>;
}

/** Who asks, with the token of a session or of a connection. */
export interface ClaimCaller {
  appId: string;
  userId: string;
}

/** What a request says of the watch that it means. */
export interface WatchSelector {
  /** The event's name, its signature without `indexed`, or its canonical one. */
  name?: string | undefined;
  watchId?: string | undefined;
  /** Without it nothing is anybody's own. */
  caller?: ClaimCaller | undefined;
}

/** Whose claims are the caller's own: the app's, or else, where it has none, those that the user made by a wallet. */
export const ownHolder = ({ appId, userId }: ClaimCaller, isHolder: (holder: string) => boolean): string =>
  !isHolder(appId) && isHolder(userId) ? userId : appId;

/**
 * Returns the test whether a text names a watch: by its event's name, its signature without `indexed`, or its canonical
 * one.
 */
export const matcherByName = (text: string): ((watch: Pick<Named, 'eventName' | 'eventSignature'>) => boolean) => {
  const signature = parsed(text);
  if (!signature) return ({ eventName }) => eventName === text.trim();
  const canonical = canonicalSignature(signature);
  const isCanonical = signature.parameters.some(({ indexed }) => indexed);
  return ({ eventSignature }) =>
    isCanonical ? eventSignature === canonical : bareSignature(parseEventSignature(eventSignature)) === canonical;
};

/**
 * Selects the watches that a request means. Without a name these are all. Of several watches that match an event by name
 * it means the newest of the caller's own, else the oldest of all; an id names one exactly.
 */
export const selectWatches = <Watch extends Named>(
  watches: readonly Watch[],
  { name, watchId, caller }: WatchSelector,
): Watch[] => {
  const found = watches.filter(({ id }) => watchId === undefined || id === watchId);
  if (name === undefined) return found;
  const named = found.filter(matcherByName(name));
  const holds = (holder: string, { appPositions }: Watch) => Object.hasOwn(appPositions, holder);
  const holder = caller && ownHolder(caller, (one) => named.some((watch) => holds(one, watch)));
  const rank = (watch: Watch) =>
    holder !== undefined && holds(holder, watch) ? (watch.appPositions[holder] ?? 0) : -watch.createdPosition;
  const own = named.filter((watch) => rank(watch) > 0);
  const events = Map.groupBy(own.length > 0 ? own : named, ({ eventSignature }) =>
    bareSignature(parseEventSignature(eventSignature)),
  );
  return Array.from(events.values(), (same) => same.reduce((one, other) => (rank(other) > rank(one) ? other : one)));
};

/** Finds the one watch that a member of a request names. @throws Refusal validation_failed if it names several events */
export const findNamed = <Watch extends Named>(
  watches: readonly Watch[],
  path: string,
  selector: WatchSelector & { name: string },
): Watch | undefined => {
  const named = selectWatches(watches, selector);
  if (named.length <= 1) return named[0];
  const signatures = named.map(({ eventSignature }) => eventSignature).join(' or ');
  throw invalid({ path, message: `is the name of several events: say ${signatures}` });
};

const parsed = (text: string) => {
  try {
    return parseEventSignature(text);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
};
