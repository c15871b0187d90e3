import { invalid, Refusal } from '../errors/refusal.ts';
import { bareSignature, canonicalSignature, parseEventSignature } from './event-signature.ts';

interface Named {
  eventName: string;
  /** Canonical. */
  eventSignature: string;
}

/** Says whether a watch is meant by its bare name, its signature without names, or its canonical form. */
export const matcherByName = (text: string): ((watch: Named) => boolean) => {
  const signature = parsed(text);
  if (!signature) return ({ eventName }) => eventName === text.trim();
  const canonical = canonicalSignature(signature);
  const isCanonical = signature.parameters.some(({ indexed }) => indexed);
  return ({ eventSignature }) =>
    isCanonical ? eventSignature === canonical : bareSignature(parseEventSignature(eventSignature)) === canonical;
};

/** The one that a member of a request names, if any. @throws Refusal validation_failed where it names several */
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
