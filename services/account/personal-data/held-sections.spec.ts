import { expect, it } from '@jest/globals';
import { eventCatalogue } from '../../../schemas/events/catalogue.ts';
import type { EventDefinition } from '../../../schemas/events/event.ts';
import { heldSections } from './held-sections.ts';

it('the sections answer why every personal member of an event is held', () => {
  const shown = new Set(
    Object.values(heldSections).flatMap(({ from }) => from.flatMap((one) => Object.values(one.personal))),
  );
  const personal = Object.entries<EventDefinition>(eventCatalogue).flatMap(([type, definition]) =>
    Object.entries(definition.personal).map(([member, held]) => ({ member: `${type}.${member}`, held })),
  );
  expect(personal.length).toBeGreaterThan(5);
  expect(personal.filter(({ held }) => !shown.has(held)).map(({ member }) => member)).toEqual([]);
});
