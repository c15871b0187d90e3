import { invalid, Refusal } from '../errors/refusal.ts';
import { bareSignature, canonicalSignature, parseEventSignature } from './event-signature.ts';

interface Named {
  eventName: string;
  /** Canonical. */
  eventSignature: string;
}

/**
 * Returns the test whether a text names a watch: by its event's name, its signature without `indexed`, or its canonical
 * one.
 */
export const matcherByName = (text: string): ((watch: Named) => boolean) => {
  const signature = parsed(text);
  if (!signature) return ({ eventName }) => eventName === text.trim();
  const canonical = canonicalSignature(signature);
  const isCanonical = signature.parameters.some(({ indexed }) => indexed);
  return ({ eventSignature }) =>
    isCanonical ? eventSignature === canonical : bareSignature(parseEventSignature(eventSignature)) === canonical;
};

/** Finds the watch that a member of a request names, if any. @throws Refusal validation_failed if it names several */
export const findNamed = <Watch extends Named>(
  watches: readonly Watch[],
  path: string,
  text: string,
): Watch | undefined => {
  const named = watches.filter(matcherByName(text));
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
