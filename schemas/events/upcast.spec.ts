import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { eventExamples } from '../examples/event-examples.ts';
import { event } from './event.ts';
import { asStored, upcast } from './upcast.ts';

const { isThirdParty: _, ...formerly } = eventExamples.AppRegistered;

describe('the data of a stored event', () => {
  it('is read as that of the newest version, and stays as it was stored beside it', () => {
    const stored = { type: 'AppRegistered', schemaVersion: 1, dataText: JSON.stringify(formerly) };
    const data = upcast(stored, formerly);
    expect(data).toEqual({ ...formerly, isThirdParty: false });
    expect(asStored({ ...stored, data })).toEqual(formerly);
    const thirdParty = { ...formerly, isThirdParty: true };
    expect(upcast(stored, thirdParty)).toEqual(thirdParty);
  });

  it('goes from version to version, and over those that only add members', () => {
    const named = event(4, z.object({ called: z.array(z.string()), added: z.int().exactOptional() }), {
      upcasts: {
        1: ({ name = null }) => ({ names: [name] }),
        3: ({ names = null, ...others }) => ({ ...others, called: names }),
      },
    });
    const known = new Map([['Named', named]]);
    const read = (schemaVersion: number, data: object) => upcast({ type: 'Named', schemaVersion }, { ...data }, known);
    expect(read(1, { name: 'a' })).toEqual({ called: ['a'] });
    expect(read(2, { names: ['b'] })).toEqual({ called: ['b'] });
    expect(read(3, { names: ['c'], added: 1 })).toEqual({ called: ['c'], added: 1 });
    expect(read(4, { called: ['d'] })).toEqual({ called: ['d'] });
  });

  it('of an unknown type, and of a later version, is as stored', () => {
    for (const [type, schemaVersion] of [
      ['Unknown', 1],
      ['AppRegistered', 3],
    ] as const) {
      const stored = { type, schemaVersion, dataText: JSON.stringify(formerly) };
      expect([upcast(stored, formerly), asStored({ ...stored, data: formerly })]).toEqual([formerly, formerly]);
    }
  });
});
