import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { sessionEvents } from '../../schemas/events/account/session-events.ts';
import { userEvents } from '../../schemas/events/account/user-events.ts';
import { storedEvent } from '../testing/event-builder.ts';
import { readModel } from './read-model.ts';

const base = {
  name: 'logins-v1',
  collections: { login: { name: 'logins', document: z.object({ method: z.string() }), indexes: [['method']] } },
} as const;

describe('a read model', () => {
  it('follows the events of its definitions, and its fold is typed by them', () => {
    const logins = readModel({
      ...base,
      events: { UserLoggedIn: userEvents.UserLoggedIn, SessionStarted: sessionEvents.SessionStarted },
      touches: ({ data }) => ({ login: data.userId }),
      evolve: ({ login }, { data }) => ({ login: login ?? { method: data.method } }),
    });
    expect(logins.eventTypes).toEqual(['UserLoggedIn', 'SessionStarted']);
    const event = storedEvent('UserLoggedIn', { userId: 'usr_1', method: 'email' }, { position: 1 });
    expect(logins.touches(event)).toEqual({ login: 'usr_1' });
    expect(logins.evolve({}, event)).toEqual({ login: { method: 'email' } });
    expect(logins.evolve({ login: { method: 'wallet' } }, event)).toEqual({ login: { method: 'wallet' } });
  });

  // tsc reports a `@ts-expect-error` that no longer has an error below it.
  it('does not compile when its fold does not handle one of its events', () => {
    const incomplete = readModel({
      ...base,
      events: sessionEvents,
      touches: ({ data }) => ({ login: data.sessionId }),
      // @ts-expect-error -- SessionRevoked is missing
      evolve: ({ login }, { type, data }) => {
        if (type === 'SessionStarted') return { login: { method: data.method } };
        if (type === 'SessionRefreshed') return { login };
      },
    });
    expect(incomplete.eventTypes).toContain('SessionRevoked');
  });

  it('does not compile with an incomplete document, an unknown role or an index of an unknown member', () => {
    const { touches, evolve } = { touches: () => ({}), evolve: () => ({}) };
    const login = { ...base.collections.login, indexes: [['app']] } as const;
    const wrong = [
      // @ts-expect-error -- a document without its member
      readModel({ ...base, events: userEvents, touches, evolve: () => ({ login: {} }) }),
      // @ts-expect-error -- another role
      readModel({ ...base, events: userEvents, touches: () => ({ logout: 'usr_1' }), evolve }),
      // @ts-expect-error -- an index of a member that documents do not have
      readModel({ name: base.name, collections: { login }, events: userEvents, touches, evolve }),
    ];
    expect(wrong.map(({ name }) => name)).toEqual(['logins-v1', 'logins-v1', 'logins-v1']);
  });
});
