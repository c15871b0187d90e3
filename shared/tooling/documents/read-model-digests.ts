import { z } from 'zod';
import { eventCatalogue, type EventType } from '../../../schemas/events/catalogue.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { StoredEvent } from '../../event-store/event-store.ts';
import { LazyStoredEvent } from '../../event-store/stored-event.ts';
import { sha256 } from '../../primitives/ids.ts';
import { readModels } from '../../read-models/catalogue.ts';
import type { ReadModel } from '../../read-models/read-model.ts';

/** How many times each event is folded, so that the digest covers folds that depend on earlier events. */
const ROUNDS = 2;
const EVENT_ID = '00000000-0000-4000-8000-000000000000';
const TIME = Date.parse('2026-01-02T03:04:05.678Z');
const metadata: EventMetadata = { correlationId: 'request-1', actor: { type: 'system', id: 'digest' } };

/**
 * Returns the digest of each read model, by name: of the schemas of its documents, and of the result of folding the
 * examples of its events. A store filled under a name is read under that name only while the digest is the same.
 */
export const readModelDigests = (models: readonly ReadModel[] = readModels): Record<string, string> =>
  Object.fromEntries(models.map((model) => [model.name, digestOf(model)]));

/**
 * Returns the digests to write.
 * @throws Error if a digest changes under the same name: stores filled under that name have other documents
 */
export const checkedDigests = (
  committed: Readonly<Record<string, string>>,
  current: Readonly<Record<string, string>> = readModelDigests(),
): Record<string, string> => {
  for (const [name, digest] of Object.entries(current)) {
    if ((committed[name] ?? digest) === digest) continue;
    throw new Error(
      `the documents or the fold of the read model ${name} changed, and its name did not: give the model and its collections a new ` +
        `version, for stores that have been filled as ${name} have documents of before. (If no store was ever filled under this name, ` +
        'remove its line in shared/documents/read-model-digests.json first.)',
    );
  }
  return { ...current };
};

const digestOf = (model: ReadModel): string => {
  const collections = Object.entries(model.collections).map(([role, { name, document, indexes }]) => {
    const schema = z.toJSONSchema(document, { unrepresentable: 'any', io: 'output' });
    return { role, name, indexes, schema };
  });
  const { eventTypes, keepsSealed } = model;
  return sha256(JSON.stringify({ collections, eventTypes, keepsSealed, folded: foldedExamples(model) }));
};

const foldedExamples = (model: ReadModel): JsonObject[] => {
  const documents = new Map<string, JsonObject>();
  const keyOf = (role: string, id: string | undefined) => `${role} ${id ?? ''}`;
  const types = Array.from({ length: ROUNDS }, () => model.eventTypes as readonly EventType[]).flat();
  return types.map((type, at) => {
    const event = exampleOf(type, at + 1);
    const touched = Object.entries(model.touches(event));
    const before = Object.fromEntries(touched.map(([role, id]) => [role, documents.get(keyOf(role, id))]));
    const after = model.evolve(before, event);
    for (const [role, id] of touched) {
      const document = after[role];
      if (document) documents.set(keyOf(role, id), document);
    }
    return { type, after: after as JsonObject };
  });
};

const exampleOf = (type: EventType, position: number): StoredEvent => {
  const texts = [JSON.stringify(eventExamples[type]), JSON.stringify(metadata)] as const;
  return new LazyStoredEvent(
    position,
    'stream',
    position,
    EVENT_ID,
    type,
    eventCatalogue[type].version,
    TIME,
    ...texts,
  );
};
