import { describe, expect, it } from '@jest/globals';
import { anEvent, someMetadata } from '../../testing/event-builder.ts';
import { toEventData, toStored } from './stored-form.esdb.ts';

const causationId = 'c0ffee00-0000-4000-8000-000000000000';
const position = { commit: 7n, prepare: 7n };

describe('the form of an event on EventStoreDB', () => {
  it('names the two ids as its own projections and tools do', () => {
    const event = anEvent();
    expect(toEventData(event).metadata).toEqual({
      ...someMetadata,
      schemaVersion: 1,
      time: event.time,
      $correlationId: 'request-1',
    });
    expect(toEventData({ ...event, metadata: { ...someMetadata, causationId } }).metadata).toMatchObject({
      causationId,
      $causationId: causationId,
    });
  });

  it('is read with the metadata that was appended, also where it was stored without these names', () => {
    const metadata = { ...someMetadata, causationId };
    const { id, type, data, metadata: stored } = toEventData({ ...anEvent(), metadata });
    const recorded = { streamId: 'a', revision: 0n, id, type, data, isJson: true, position } as const;
    const before = { ...metadata, schemaVersion: 1, time: 5 };
    for (const one of [stored, before]) expect(toStored({ ...recorded, metadata: one })?.metadata).toEqual(metadata);
  });
});
