import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { storedEvent } from '../../testing/event-builder.ts';
import { project } from '../../testing/project.ts';
import { historyModel } from './history.ts';

const userId = 'usr_1';
const salt = { enc: 'c2FsdA', kid: 'data-usr_1' };
const registered = storedEvent(
  'UserRegistered',
  { userId },
  {
    position: 7,
    time: Date.parse('2026-01-02T01:00:00.000Z'),
    metadata: { correlationId: 'request-1', actor: { type: 'app', id: 'app_1' }, app: 'app_1' },
  },
);
const updated = storedEvent(
  'ProfileUpdated',
  { userId, changes: { username: 'ada', signature: null } },
  {
    position: 9,
    time: Date.parse('2026-01-02T02:00:00.000Z'),
    metadata: { correlationId: 'request-2', actor: { type: 'user', id: userId }, app: 'app_1', session: 'ses_1' },
  },
);
const revoked = storedEvent(
  'SessionRevoked',
  { userId, sessionId: 'ses_1', reason: 'refresh_token_reused' },
  {
    position: 12,
    time: Date.parse('2026-01-02T03:00:00.000Z'),
    metadata: {
      ...{ correlationId: 'request-3', actor: { type: 'system', id: 'account' } },
      ...{ digest: 'd'.repeat(64), salt },
    },
  },
);

/** The hash as an auditor computes it. */
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const zeros = '0000000000000000000000000000000000000000000000000000000000000000';
const digests = [
  hashOf('{"userId":"usr_1"}'),
  hashOf('{"changes":{"signature":null,"username":"ada"},"userId":"usr_1"}'),
  'd'.repeat(64),
];
const first = hashOf(
  `{"actor":{"id":"app_1","type":"app"},"app":"app_1","digest":"${digests[0] ?? ''}","position":7,"previous":"${zeros}",` +
    '"requestId":"request-1","session":null,"time":"2026-01-02T01:00:00.000Z","type":"UserRegistered"}',
);
const second = hashOf(
  `{"actor":{"id":"usr_1","type":"user"},"app":"app_1","digest":"${digests[1] ?? ''}","position":9,"previous":"${first}",` +
    '"requestId":"request-2","session":"ses_1","time":"2026-01-02T02:00:00.000Z","type":"ProfileUpdated"}',
);
const third = hashOf(
  `{"actor":{"id":"account","type":"system"},"app":null,"digest":"${digests[2] ?? ''}","position":12,"previous":"${second}",` +
    '"requestId":"request-3","session":null,"time":"2026-01-02T03:00:00.000Z","type":"SessionRevoked"}',
);

describe('the history of a user', () => {
  it('has an item for each event, whose hash covers the previous item', async () => {
    expect(await project(historyModel, [registered, updated, revoked])).toEqual({
      item: {
        'usr_1:7': {
          ...{ userId: 'usr_1', sequence: 0, type: 'UserRegistered', time: '2026-01-02T01:00:00.000Z' },
          actor: { type: 'app', id: 'app_1' },
          ...{ app: 'app_1', session: null, requestId: 'request-1' },
          data: { userId: 'usr_1' },
          ...{ position: 7, previous: zeros, digest: digests[0], salt: '', hash: first },
        },
        'usr_1:9': {
          ...{ userId: 'usr_1', sequence: 1, type: 'ProfileUpdated', time: '2026-01-02T02:00:00.000Z' },
          actor: { type: 'user', id: 'usr_1' },
          ...{ app: 'app_1', session: 'ses_1', requestId: 'request-2' },
          data: { userId: 'usr_1', changes: { username: 'ada', signature: null } },
          ...{ position: 9, previous: first, digest: digests[1], salt: '', hash: second },
        },
        'usr_1:12': {
          ...{ userId: 'usr_1', sequence: 2, type: 'SessionRevoked', time: '2026-01-02T03:00:00.000Z' },
          actor: { type: 'system', id: 'account' },
          ...{ app: null, session: null, requestId: 'request-3' },
          data: { userId: 'usr_1', sessionId: 'ses_1', reason: 'refresh_token_reused' },
          ...{ position: 12, previous: second, digest: digests[2], salt, hash: third },
        },
      },
      head: { usr_1: { count: 3, hash: third } },
    });
  });

  it('does not change when an event is delivered again', async () => {
    const events = [registered, updated, revoked];
    expect(await project(historyModel, [registered, updated, registered, updated, revoked])).toEqual(
      await project(historyModel, events),
    );
  });

  it('is a chain of hashes of its own for each user', async () => {
    const other = storedEvent('UserLoggedIn', { userId: 'usr_2' }, { position: 8 });
    const { item, head } = await project(historyModel, [registered, other, updated]);
    expect(item).toMatchObject({
      'usr_1:7': { sequence: 0, previous: zeros },
      'usr_2:8': { userId: 'usr_2', sequence: 0, type: 'UserLoggedIn', previous: zeros },
      'usr_1:9': { sequence: 1, previous: first },
    });
    expect(head).toMatchObject({ usr_1: { count: 2, hash: second }, usr_2: { count: 1 } });
  });

  it('has sessions begun and ended and transactions too, and no refreshes of sessions', async () => {
    const events = [
      registered,
      storedEvent('IdentityLinked', { userId }, { position: 8 }),
      storedEvent('SessionStarted', { userId }, { position: 9 }),
      storedEvent('SessionRefreshed', {}, { position: 10 }),
      storedEvent('TxSubmitted', { userId }, { position: 11 }),
      storedEvent('TxIncluded', { userId }, { position: 12 }),
      storedEvent('TxSubmitted', { userId: null }, { position: 13 }),
      storedEvent('SessionRevoked', { userId }, { position: 14 }),
    ];
    const { item } = await project(historyModel, events);
    expect(Object.keys(item ?? {})).toEqual(['7', '8', '9', '11', '12', '14'].map((position) => `usr_1:${position}`));
  });
});
