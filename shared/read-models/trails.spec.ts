import { expect, it } from '@jest/globals';
import { eventCatalogue, type EventType } from '../../schemas/events/catalogue.ts';
import { storedEvent } from '../testing/event-builder.ts';
import { project } from '../testing/project.ts';
import { TRAIL_EVENTS_MAX, trailsModel } from './trails.ts';

const by = (correlationId: string) => ({ correlationId, actor: { type: 'system', id: 'test' } }) as const;

it('tells where the events of each request are, in their order', async () => {
  const events = [
    storedEvent('UserRegistered', {}, { position: 1, stream: 'user-1', metadata: by('request-1') }),
    storedEvent('UserLoggedIn', {}, { position: 2, stream: 'user-1', revision: 1, metadata: by('request-1') }),
    storedEvent('ProfileUpdated', {}, { position: 3, stream: 'user-1', revision: 2, metadata: by('request-2') }),
    storedEvent('SessionStarted', {}, { position: 4, stream: 'session-1', metadata: by('request-1') }),
  ];
  expect(await project(trailsModel, events)).toEqual({
    trail: {
      'request-1': {
        events: [
          ['user-1', 0],
          ['user-1', 1],
          ['session-1', 0],
        ],
      },
      'request-2': { events: [['user-1', 2]] },
    },
  });
});

it('has the first events of an id that is used again and again', async () => {
  const events = Array.from({ length: TRAIL_EVENTS_MAX + 2 }, (_, revision) =>
    storedEvent('ProfileUpdated', {}, { position: revision + 1, stream: 'user-1', revision, metadata: by('again') }),
  );
  const { trail } = await project(trailsModel, events);
  expect(trail?.['again']).toEqual({
    events: Array.from({ length: TRAIL_EVENTS_MAX }, (_, revision) => ['user-1', revision]),
  });
});

it('leaves out what is forgotten in time and what is read from chains', () => {
  const left = (Object.keys(eventCatalogue) as EventType[]).filter((type) => !trailsModel.eventTypes.includes(type));
  const of = (pattern: RegExp) => left.filter((type) => !pattern.test(type));
  expect(
    of(/^(Chain|Follower|Range|Blocks|Challenge|Otp|Login|Request|SignatureUsed|Bundle|Passkey(Challenge|State))/),
  ).toEqual([]);
});
