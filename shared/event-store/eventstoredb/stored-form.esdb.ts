import {
  jsonEvent,
  type AllStreamRecordedEvent,
  type EventData,
  type Position as LogPosition,
} from '@eventstore/db-client';
import type { EventMetadata } from '../../schemas/events/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { EventToAppend, Position, StoredEvent } from './event-store.ts';

/** Stored in the event's metadata, because EventStoreDB has no other field for them. */
interface StoredMetadata extends EventMetadata {
  schemaVersion: number;
  /** Unix milliseconds: when it happened, not when it was stored. */
  time: number;
  /** Under these names EventStoreDB's own projections and tools find the two ids. */
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

/** Returns where a read must begin to give what comes after a position. A read at an event begins with that event. */
export const toLogPosition = (position: Position): LogPosition => {
  const commit = BigInt(Math.floor(position / 2));
  return { commit, prepare: position % 2 === 1 ? commit : 0n };
};

/** @returns `undefined` for what this program did not write: the server's own events, and those of other programs */
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

/** The client has already parsed the data, so here the text is what is made on first use. */
class DecodedEvent implements StoredEvent {
  private text: string | undefined;

  constructor(
    readonly position: Position,
    readonly stream: string,
    readonly revision: number,
    readonly id: string,
    readonly type: string,
    readonly data: JsonObject,
    private readonly stored: StoredMetadata,
  ) {}

  get schemaVersion(): number {
    return this.stored.schemaVersion;
  }

  get time(): number {
    return this.stored.time;
  }

  get dataText(): string {
    return (this.text ??= JSON.stringify(this.data));
  }

  get metadata(): EventMetadata {
    const { schemaVersion: _version, time: _time, $correlationId: _, $causationId: __, ...metadata } = this.stored;
    return metadata;
  }
}
