import type { WatchDocument } from '../../../shared/read-models/watches.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { bareSignature, canonicalSignature, parseEventSignature } from './event-signature.ts';

type Named = Pick<WatchDocument, 'eventName' | 'eventSignature'>;

/** Says whether a watch is meant by its bare name, its signature without names, or its canonical form. */
export const namedBy = (text: string): ((watch: Named) => boolean) => {
  const signature = parsed(text);
  if (!signature) return ({ eventName }) => eventName === text;
  const canonical = canonicalSignature(signature);
  const isCanonical = signature.parameters.some(({ indexed }) => indexed);
  return ({ eventSignature }) =>
    isCanonical ? eventSignature === canonical : bareSignature(parseEventSignature(eventSignature)) === canonical;
};

const parsed = (text: string) => {
  try {
    return parseEventSignature(text);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
};
