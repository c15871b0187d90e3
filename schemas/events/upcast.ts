import type { JsonObject } from '../json.ts';
import { eventCatalogue } from './catalogue.ts';
import type { EventDefinition } from './event.ts';

type Versioned = Pick<EventDefinition, 'version' | 'upcasts'>;
interface Stored {
  type: string;
  /** With which the event was stored. */
  schemaVersion: number;
}

const definitions: ReadonlyMap<string, Versioned> = new Map(Object.entries<EventDefinition>(eventCatalogue));

/** Returns the data of a stored event in the form of the newest version of its type, one version after the other. */
export const upcast = ({ type, schemaVersion }: Stored, stored: JsonObject, known = definitions): JsonObject => {
  const definition = known.get(type);
  let data = stored;
  for (let from = schemaVersion; definition && from < definition.version; from += 1)
    data = definition.upcasts[from]?.(data) ?? data;
  return data;
};

/**
 * Returns the data of an event as it was stored, for what must not change with later versions: digests, leaves of the log,
 * histories, messages.
 */
export const asStored = (event: Stored & { data: JsonObject; dataText: string }): JsonObject => {
  const { version = 0 } = definitions.get(event.type) ?? {};
  return event.schemaVersion < version ? (JSON.parse(event.dataText) as JsonObject) : event.data;
};
