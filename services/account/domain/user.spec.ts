import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { UserEvent } from '../../../schemas/events/user-events.ts';
import { expectNothingTheSecondTime, given } from '../../../shared/testing/given.ts';
import { appFold, registerApp } from './app.ts';
import { claimIdentity, identityFold, walletIdentity } from './identity.ts';
import { logIn, updateProfile, userFold } from './user.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const wallet = walletIdentity('0x70997970C51812dc3A010C7d01b50e0d17dc79C8');
const userId = 'usr_1';
const login = { ...wallet, userId, appId: 'app_1', sessionId: 'ses_1' };
const { identityId, method } = wallet;
const registered: UserEvent = { type: 'UserRegistered', data: { userId } };
const linked: UserEvent = { type: 'IdentityLinked', data: { userId, ...wallet } };
const loggedIn = (sessionId: string): UserEvent => ({
  type: 'UserLoggedIn',
  data: { userId, identityId, method, appId: 'app_1', sessionId },
});
const at = (...events: UserEvent[]): [UserEvent, number][] => events.map((event) => [event, NOON]);

describe('a user', () => {
  it('is registered and linked with the first login only', () => {
    given(userFold, [])
      .when((user) => logIn(user, login))
      .then([registered, linked, loggedIn('ses_1')]);
    given(userFold, at(registered, linked, loggedIn('ses_0')))
      .when((user) => logIn(user, login))
      .then([loggedIn('ses_1')]);
  });

  it('has what the events say', () => {
    const { state } = given(userFold, at(registered, linked, loggedIn('ses_1')));
    expect(state.entity).toMatchObject({
      id: userId,
      username: null,
      identities: [{ id: identityId, method: 'wallet', label: wallet.label, linkedAt: '2026-01-02T12:00:00.000Z' }],
      createdAt: '2026-01-02T12:00:00.000Z',
      revision: 2,
    });
  });

  it('changes only what differs', () => {
    const named = at(registered, {
      type: 'ProfileUpdated',
      data: { userId, changes: { username: 'ada', avatar: null } },
    });
    given(userFold, named)
      .when((user) => updateProfile(user, userId, { username: 'ada', firstname: 'Ada', avatar: null }))
      .then([{ type: 'ProfileUpdated', data: { userId, changes: { firstname: 'Ada' } } }]);
    given(userFold, named)
      .when((user) => updateProfile(user, userId, {}))
      .then([]);
    given(userFold, named)
      .when((user) => updateProfile(user, userId, { username: null }))
      .then([{ type: 'ProfileUpdated', data: { userId, changes: { username: null } } }]);
  });

  it('does nothing the second time', () => {
    const text = fc.option(fc.string({ minLength: 1 }));
    const changes = fc.record({ username: text, lastname: text, signature: text }, { requiredKeys: [] });
    const past = fc.array(
      fc.oneof(
        fc.constantFrom(registered, linked, loggedIn('ses_1'), loggedIn('ses_2')),
        changes.map((one): UserEvent => ({ type: 'ProfileUpdated', data: { userId, changes: one } })),
      ),
    );
    fc.assert(
      fc.property(past, changes, (events, asked) => {
        const { state } = given(userFold, at(...events));
        expectNothingTheSecondTime(userFold, state, (user) => logIn(user, login), NOON);
        expectNothingTheSecondTime(userFold, state, (user) => updateProfile(user, userId, asked), NOON);
      }),
    );
  });
});

describe('an identity', () => {
  it('is held by whoever claims it first', () => {
    const claim = { ...wallet, userId };
    given(identityFold, [])
      .when((holder) => claimIdentity(holder, claim))
      .then([{ type: 'IdentityClaimed', data: claim }]);
    given(identityFold, [[{ type: 'IdentityClaimed', data: claim }, NOON]])
      .when((holder) => claimIdentity(holder, { ...claim, userId: 'usr_2' }))
      .then([]);
  });

  it('of a wallet is the same in whatever case it is written', () => {
    expect(walletIdentity(wallet.label.toLowerCase()).identityId).toBe(identityId);
  });
});

describe('an app', () => {
  it('is registered once', () => {
    const app = {
      id: 'app_1',
      name: 'One',
      apiKey: 'ak_1',
      signer: wallet.label,
      scheme: 'v1' as const,
      origins: ['https://app.example'],
      redirectUris: [],
    };
    expectNothingTheSecondTime(appFold, appFold.initial, (state) => registerApp(state, app), NOON);
  });
});
