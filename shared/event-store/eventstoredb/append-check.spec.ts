import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../schemas/json.ts';
import { anEvent } from '../../testing/event-builder.ts';
import { checkAppend } from './append-check.ts';

const circle: JsonObject = {};
circle['itself'] = circle;

describe('events to append', () => {
  it('have a UUID, a type and JSON', () => {
    expect(() => {
      checkAppend('user-1', [anEvent(), { ...anEvent(), id: anEvent().id.toUpperCase() }]);
    }).not.toThrow();
    expect(() => {
      checkAppend('user-1', []);
    }).not.toThrow();
  });

  it.each(['', '$all'])('are not for a stream that is called "%s"', (stream) => {
    expect(() => {
      checkAppend(stream, []);
    }).toThrow(`"${stream}"`);
  });

  it.each([
    ['', { id: '' }],
    ['a short id', { id: 'a3bb189e-8bf9-3888-9912-ace4e654300' }],
    ['an id behind something else', { id: '0a3bb189e-8bf9-3888-9912-ace4e6543002' }],
    ['a long id', { id: 'a3bb189e-8bf9-3888-9912-ace4e65430020' }],
    ['an id without dashes', { id: 'a3bb189e8bf938889912ace4e6543002' }],
  ])('are refused with an id that is not a UUID: %s', (_, wrong) => {
    expect(() => {
      checkAppend('user-1', [anEvent(), { ...anEvent(), ...wrong }]);
    }).toThrow(new RegExp(`"${wrong.id}".*user-1.*UUID`));
  });

  it.each(['', '$metadata'])('are refused with the type "%s"', (type) => {
    expect(() => {
      checkAppend('user-1', [anEvent({ type })]);
    }).toThrow(`"${type}" `);
  });

  it('are refused with what JSON has no form for, in the data or the metadata', () => {
    const big = { amount: 1n } as unknown as JsonObject;
    for (const event of [anEvent({ data: big }), anEvent({ data: circle })]) {
      expect(() => {
        checkAppend('user-1', [event]);
      }).toThrow(
        expect.objectContaining({ message: expect.stringMatching(/Happened.*user-1.*JSON/), cause: expect.anything() }),
      );
    }
    const { metadata } = anEvent();
    expect(() => {
      checkAppend('user-1', [{ ...anEvent(), metadata: { ...metadata, ...big } }]);
    }).toThrow(/JSON/);
  });
});
