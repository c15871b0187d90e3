import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { eventCatalogue } from './catalogue.ts';
import { event, type EventDefinition } from './event.ts';
import { heldBecause } from './held.ts';

const named = z.object({ userId: z.string(), name: z.string() });
const held = { purpose: 'to greet', retention: 'a day' };

describe('the definition of an event', () => {
  // tsc reports a `@ts-expect-error` that no longer has an error below it.
  it('does not compile where a personal member lacks its purpose or its retention', () => {
    const wrong = [
      // @ts-expect-error -- a member alone, as it was marked before
      event(1, named, { held, personal: ['name'] }),
      // @ts-expect-error -- no retention
      event(1, named, { held, personal: { name: { purpose: 'to greet' } } }),
      // @ts-expect-error -- no purpose
      event(1, named, { held, personal: { name: { retention: 'a day' } } }),
      // @ts-expect-error -- a member that the event does not have
      event(1, named, { held, personal: { nickname: held } }),
    ];
    expect(wrong).toHaveLength(4);
    expect(event(1, named, { held, personal: { name: held } }).personal).toEqual({ name: held });
  });

  it('does not compile where it names a user and does not say why and until when', () => {
    const wrong = [
      // @ts-expect-error -- neither
      event(1, named),
      // @ts-expect-error -- neither, beside other options
      event(1, named, { isAudited: true }),
      // @ts-expect-error -- no retention
      event(1, named, { held: { purpose: 'to greet' } }),
    ];
    expect(wrong).toHaveLength(3);
    expect(event(1, z.object({ name: z.string() })).held).toBeUndefined();
  });

  it('says why in words', () => {
    const all = Object.values<EventDefinition>(eventCatalogue);
    const texts = all.flatMap((one) => [one.held ?? [], ...Object.values(one.personal)].flat());
    for (const { purpose, retention } of texts)
      expect([purpose.length > 10, retention.length > 10]).toEqual([true, true]);
  });
});

it('several events are held because of each of their reasons, said once', () => {
  const name = { purpose: 'to recognise', retention: 'a day' };
  const events = [event(1, named, { held, personal: { name } }), event(1, named, { held })];
  expect(heldBecause(events)).toEqual({ purpose: 'to recognise; to greet', retention: 'a day' });
});
