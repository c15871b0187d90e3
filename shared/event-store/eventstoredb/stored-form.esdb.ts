import {
  jsonEvent,
  type AllStreamRecordedEvent,
  type EventData,
  type Position as LogPosition,
} from '@eventstore/db-client';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { upcast } from '../../../schemas/events/upcast.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { EventToAppend, Position, StoredEvent } from '../event-store.ts';

/** Stored in the event's metadata, because EventStoreDB has no other field for these values. */
interface StoredMetadata extends EventMetadata {
  schemaVersion: number;
  /** Unix milliseconds at which the event happened, not at which it was stored. */
  time: number;
  /** EventStoreDB's own projections and tools read the two ids under these names. */
  $correlationId?: string;
  $causationId?: string;
}

/** An event of EventStoreDB with its position, which servers since 22.6 always send. */
export type Recorded = Pick<
  AllStreamRecordedEvent,
  'streamId' | 'revision' | 'id' | 'type' | 'data' | 'metadata' | 'isJson'
> & {
  position?: LogPosition | undefined;
};

export const toEventData = ({ id, type, schemaVersion, time, data, metadata }: EventToAppend): EventData =>
  jsonEvent({
    id,
    type,
    data,
    metadata: {
      ...metadata,
      schemaVersion,
      time,
      $correlationId: metadata.correlationId,
      ...(metadata.causationId !== undefined && { $causationId: metadata.causationId }),
    } satisfies StoredMetadata,
  });

/** Returns the position of an event, or of a checkpoint, which may be just before one (decision 0010). */
export const toPosition = ({ commit, prepare }: LogPosition): Position =>
  2 * Number(commit) + (prepare < commit ? 0 : 1);

/**
 * Returns where a read must begin to return the events after a position. A read that begins at an event includes that
 * event.
 */
export const toLogPosition = (position: Position): LogPosition => {
  const commit = BigInt(Math.floor(position / 2));
  return { commit, prepare: position % 2 === 1 ? commit : 0n };
};

/** @returns `undefined` for events that this program did not write: the server's own, and those of other programs */
export const toStored = ({
  streamId,
  revision,
  id,
  type,
  data,
  metadata,
  isJson,
  position,
}: Recorded): StoredEvent | undefined => {
  if (!isJson || !position || isSystem(streamId) || isSystem(type) || !isOurs(metadata)) return undefined;
  // `append` accepts only a JSON object as `data`.
  return new DecodedEvent(toPosition(position), streamId, Number(revision), id, type, data as JsonObject, metadata);
};

const isSystem = (name: string): boolean => name.startsWith('$');

const isOurs = (metadata: unknown): metadata is StoredMetadata =>
  typeof metadata === 'object' &&
  metadata !== null &&
  'schemaVersion' in metadata &&
  typeof metadata.schemaVersion === 'number' &&
  'time' in metadata &&
  typeof metadata.time === 'number';

/** An event whose data the client has parsed already. Serialises the text on first use. */
class DecodedEvent implements StoredEvent {
  private text: string | undefined;
  private upcastData: JsonObject | undefined;

  constructor(
    readonly position: Position,
    readonly stream: string,
    readonly revision: number,
    readonly id: string,
    readonly type: string,
    private readonly storedData: JsonObject,
    private readonly stored: StoredMetadata,
  ) {}

  get schemaVersion(): number {
    return this.stored.schemaVersion;
  }

  get time(): number {
    return this.stored.time;
  }

  get data(): JsonObject {
    return (this.upcastData ??= upcast(this, this.storedData));
  }

  get dataText(): string {
    return (this.text ??= JSON.stringify(this.storedData));
  }

  get metadata(): EventMetadata {
    const { schemaVersion: _version, time: _time, $correlationId: _, $causationId: __, ...metadata } = this.stored;
    return metadata;
  }
}
