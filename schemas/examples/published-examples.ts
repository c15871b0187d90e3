import { eventCatalogue, type EventType } from '../events/catalogue.ts';
import type { EventDefinition } from '../events/event.ts';
import { eventExamples } from './event-examples.ts';

const USER_ID = eventExamples.UserRegistered.userId;

/** An example as it is stored and published, with its personal members sealed. */
const storedExample = (type: EventType): object => {
  const { personal }: EventDefinition = eventCatalogue[type];
  const kid = `data-${USER_ID}`;
  const sealed = (value: unknown): unknown => {
    if (typeof value === 'string') return { enc: 'MDEyMzQ1Njc4OWFiY2lwaGVydGV4dDAxMjM0NTY3ODlhYmNkZWY', kid };
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, sealed(one)]));
  };
  return Object.fromEntries(
    Object.entries(eventExamples[type]).map(([member, value]) => [
      member,
      Object.hasOwn(personal, member) ? sealed(value) : (value as unknown),
    ]),
  );
};

/** The same as it is published. */
export const publishedExample = (type: EventType): object => {
  const { unpublished }: EventDefinition = eventCatalogue[type];
  return Object.fromEntries(
    Object.entries(storedExample(type) as Record<string, object>).map(([member, value]) => {
      const hidden = unpublished[member];
      if (!hidden) return [member, value];
      return [member, Object.fromEntries(Object.entries(value).filter(([name]) => !hidden.includes(name)))];
    }),
  );
};
