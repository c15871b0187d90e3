import type { EventMetadata } from '../../schemas/events/event.ts';
import { upcast } from '../../schemas/events/upcast.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { StoredEvent } from './event-store.ts';

/** A stored event whose JSON is parsed on first use: most readers pass the text on or skip it. */
export class LazyStoredEvent implements StoredEvent {
  private parsedData: JsonObject | undefined;
  private parsedMetadata: EventMetadata | undefined;

  constructor(
    readonly position: number,
    readonly stream: string,
    readonly revision: number,
    readonly id: string,
    readonly type: string,
    readonly schemaVersion: number,
    readonly time: number,
    readonly dataText: string,
    /** JSON text, an object already parsed, or what parses it for several events that share it. */
    private readonly storedMetadata: string | EventMetadata | (() => EventMetadata),
  ) {}

  get data(): JsonObject {
    return (this.parsedData ??= upcast(this, JSON.parse(this.dataText) as JsonObject));
  }

  get metadata(): EventMetadata {
    const { storedMetadata } = this;
    if (typeof storedMetadata === 'object') return storedMetadata;
    if (typeof storedMetadata === 'function') return storedMetadata();
    return (this.parsedMetadata ??= JSON.parse(storedMetadata) as EventMetadata);
  }
}
