import { describe, expect, it } from '@jest/globals';
import { storedEvent } from '../../testing/event-builder.ts';
import { project } from '../../testing/project.ts';
import { sessionsModel } from './sessions.ts';

const sessionId = 'ses_1';
const started = storedEvent(
  'SessionStarted',
  { sessionId, userId: 'usr_1', appId: 'app_1', method: 'wallet', device: 'a browser' },
  { position: 1, time: Date.parse('2026-01-02T01:00:00.000Z') },
);
const refreshed = storedEvent(
  'SessionRefreshed',
  { sessionId },
  { position: 2, time: Date.parse('2026-01-02T02:00:00.000Z') },
);
const revoked = storedEvent(
  'SessionRevoked',
  { sessionId, userId: 'usr_1' },
  { position: 3, time: Date.parse('2026-01-02T03:00:00.000Z') },
);
const startedSession = { id: 'ses_1', userId: 'usr_1', appId: 'app_1', method: 'wallet', device: 'a browser' };

describe('a session', () => {
  it('is created by its login, and not ended', async () => {
    expect(await project(sessionsModel, [started])).toEqual({
      session: {
        ses_1: {
          ...startedSession,
          createdAt: '2026-01-02T01:00:00.000Z',
          lastUsedAt: '2026-01-02T01:00:00.000Z',
          revokedAt: null,
          startedPosition: 1,
          endedPosition: Number.MAX_SAFE_INTEGER,
        },
      },
    });
  });

  it('has the time of its last refresh', async () => {
    expect(await project(sessionsModel, [started, refreshed])).toEqual({
      session: {
        ses_1: {
          ...startedSession,
          createdAt: '2026-01-02T01:00:00.000Z',
          lastUsedAt: '2026-01-02T02:00:00.000Z',
          revokedAt: null,
          startedPosition: 1,
          endedPosition: Number.MAX_SAFE_INTEGER,
        },
      },
    });
  });

  it('that was revoked has ended, without its user agent, and stays ended after a refresh', async () => {
    const ended = {
      ...startedSession,
      device: null,
      createdAt: '2026-01-02T01:00:00.000Z',
      lastUsedAt: '2026-01-02T02:00:00.000Z',
      revokedAt: '2026-01-02T03:00:00.000Z',
      startedPosition: 1,
      endedPosition: 3,
    };
    expect(await project(sessionsModel, [started, refreshed, revoked])).toEqual({ session: { ses_1: ended } });
    const late = storedEvent(
      'SessionRefreshed',
      { sessionId },
      { position: 4, time: Date.parse('2026-01-02T04:00:00.000Z') },
    );
    expect(await project(sessionsModel, [started, refreshed, revoked, late])).toEqual({
      session: { ses_1: { ...ended, lastUsedAt: '2026-01-02T04:00:00.000Z' } },
    });
  });

  it('that was never started does not exist', async () => {
    expect(await project(sessionsModel, [refreshed, revoked])).toEqual({ session: {} });
  });

  it('is revoked without any other session', async () => {
    const other = storedEvent('SessionStarted', { sessionId: 'ses_2', device: null }, { position: 2 });
    const { session } = await project(sessionsModel, [started, other, revoked]);
    expect(session?.['ses_1']).toMatchObject({ revokedAt: '2026-01-02T03:00:00.000Z' });
    expect(session?.['ses_2']).toMatchObject({ id: 'ses_2', device: null, revokedAt: null });
  });
});
