import { claimsOf, type Claimant } from './claimant.ts';
import { invalid, Refusal } from '../../errors/refusal.ts';
import { bareSignature, canonicalSignature, parseEventSignature, topicOfSignature } from './event-signature.ts';

interface Named {
  id: string;
  eventName: string;
  /** In canonical form. */
  eventSignature: string;
  /** `null` for an anonymous event. */
  topic0: string | null;
  /** Position of the registration since which the watch has always had a claimant. */
  claimedSince: number;
  /** Position of each claim's registration, by `claimantText`. */
  claimPositions: Readonly<Record<string, number>>;
}

/** How a request selects watches. */
export interface WatchSelector {
  /** The event's name, its signature without `indexed`, or its canonical signature. */
  name?: string | undefined;
  watchId?: string | undefined;
  /** Without a caller, no watch is preferred as the caller's own. */
  caller?: Claimant | undefined;
}

/**
 * Returns a test whether a text names a watch: by its event's name, its signature without `indexed`, or its canonical
 * signature.
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
 * Returns filters of stored watches. A watch that fits any of them is accepted by `matcherByName`, and no other is,
 * except that anonymous events are found by their name alone.
 */
export const filtersByName = (text: string): Record<string, string | null>[] => {
  const signature = parsed(text);
  if (!signature) return [{ eventName: text.trim() }];
  const { name, parameters } = signature;
  if (parameters.some(({ indexed }) => indexed)) return [{ eventSignature: canonicalSignature(signature) }];
  return [{ topic0: topicOfSignature(bareSignature(signature)) }, { topic0: null, eventName: name }];
};

/**
 * Selects the watches that a request means. Of several watches that match an event, that is the oldest claimed by the
 * caller, else the oldest claimed by the caller's app itself, else the oldest of all. Without a name, selects one for
 * each kind of log, in the same order. An id selects exactly one.
 */
export const selectWatches = <Watch extends Named>(
  watches: readonly Watch[],
  { name, watchId, caller }: WatchSelector,
): Watch[] => {
  const rank = rankFor(caller);
  const found = watches
    .filter(({ id }) => watchId === undefined || id === watchId)
    .toSorted((left, right) => rank(left)[0] - rank(right)[0] || rank(left)[1] - rank(right)[1]);
  if (name === undefined) return firstOfEach(found, kindOfLog);
  const named = found.filter(matcherByName(name));
  const nearest = named.filter((watch) => rank(watch)[0] === (named[0] && rank(named[0])[0]));
  return firstOfEach(nearest, ({ eventSignature }) => bareSignature(parseEventSignature(eventSignature)));
};

/** How near a watch is to the caller, and the position since which it is claimed. The lowest rank is selected. */
type Rank = readonly [nearness: number, since: number];

const rankFor = (caller: Claimant | undefined): ((watch: Named) => Rank) => {
  const claims = claimsOf(caller);
  return ({ claimPositions, claimedSince }) => {
    const nearness = claims.findIndex((claim) => Object.hasOwn(claimPositions, claim));
    if (nearness === -1) return [claims.length, claimedSince];
    return [nearness, claimPositions[claims[nearness] ?? ''] ?? claimedSince];
  };
};

const firstOfEach = <Watch>(watches: readonly Watch[], group: (watch: Watch) => string): Watch[] =>
  Map.groupBy(watches, group)
    .values()
    .flatMap((same) => same.slice(0, 1))
    .toArray();

/** Watches of one kind have the same logs: those with one first topic, or, for an anonymous event, with one layout. */
const kindOfLog = ({ topic0, eventSignature }: Named): string =>
  topic0 ?? eventSignature.slice(eventSignature.indexOf('('));

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
  // A name alone, as in most requests: without the cost of an error.
  if (!text.includes('(')) return undefined;
  try {
    return parseEventSignature(text);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
};
