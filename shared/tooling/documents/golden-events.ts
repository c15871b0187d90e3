import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { eventCatalogue, type EventType } from '../../../schemas/events/catalogue.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { LazyStoredEvent } from '../../event-store/stored-event.ts';
import { openedData, personalMembersOf, sealedValue } from '../../key-vault/sealed-members.ts';
import { leafOf } from '../../transparency-log/leaf-entry.ts';

/** An event as some build stored it, and as a build whose newest version of its type was `as` read it. Stored, never changed. */
const goldenEvent = z.object({
  type: z.string().refine((type): type is EventType => Object.hasOwn(eventCatalogue, type)),
  version: z.int(),
  as: z.int(),
  /** Its leaf in the transparency log, base64. */
  leaf: z.string(),
  data: z.record(z.string(), z.json()),
  /** The data in the form of that version, decrypted. */
  read: z.record(z.string(), z.json()),
});
type GoldenEvent = z.infer<typeof goldenEvent>;

/** The key of everybody in the samples. It protects nothing. */
const KID = 'golden';
const KEY = Buffer.alloc(32, 7);
const EVENT_ID = '00000000-0000-4000-8000-000000000000';
const TIME = Date.parse('2026-01-02T03:04:05.678Z');
const metadata: EventMetadata = { correlationId: 'request-1', actor: { type: 'system', id: 'golden' } };

/** Reads the lines of the committed file. */
export const goldenEvents = (text: string): GoldenEvent[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => goldenEvent.parse(JSON.parse(line)));

/** Returns how this build reads a stored event. */
export const readByThisBuild = ({
  type,
  version,
  data,
}: Pick<GoldenEvent, 'type' | 'version' | 'data'>): GoldenEvent => {
  const texts = [JSON.stringify(data), JSON.stringify(metadata)] as const;
  const event = new LazyStoredEvent(1, 'golden', 0, EVENT_ID, type, version, TIME, ...texts);
  const read = openedData(event, new Map([[KID, KEY]]));
  return { type, version, as: eventCatalogue[type].version, leaf: leafOf(event).toString('base64'), data, read };
};

/**
 * Returns the lines to add to the committed ones: how this build reads each version of an event, where no build with the same
 * newest version has recorded it yet.
 * @throws Error if this build reads an event otherwise than a former one with the same newest version
 */
export const goldenEventsToAdd = (committed: readonly GoldenEvent[]): GoldenEvent[] => {
  for (const line of committed) requireSame(line);
  return (Object.keys(eventCatalogue) as EventType[]).flatMap((type) => {
    const newest = eventCatalogue[type].version;
    const recorded = committed.filter((line) => line.type === type);
    const samples = new Map([...recorded, newSample(type), ...recorded].map((line) => [line.version, line]));
    const known = new Set(recorded.filter((line) => line.as === newest).map(({ version }) => version));
    return [...samples.values()].filter(({ version }) => !known.has(version)).map(readByThisBuild);
  });
};

const requireSame = (line: GoldenEvent): void => {
  const now = readByThisBuild(line);
  if (now.as !== line.as || isDeepStrictEqual(now, line)) return;
  const { type, version } = line;
  throw new Error(
    `${type} version ${String(version)} is read otherwise than builds before this one read it, and stored events stay as they are: give ` +
      'the event its next version, with an upcaster if a member changed (docs/recipes.md, "The next version of an event")',
  );
};

/** The example of an event as this build stores it. */
const newSample = (type: EventType): Pick<GoldenEvent, 'type' | 'version' | 'data'> => {
  const data: JsonObject = { ...(eventExamples[type] as JsonObject) };
  for (const member of personalMembersOf({ type }))
    if (data[member] !== undefined) data[member] = sealedValue(data[member], KEY, KID);
  return { type, version: eventCatalogue[type].version, data };
};
