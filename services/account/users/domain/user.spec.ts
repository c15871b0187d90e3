import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type UserEvent, userStream } from '../../../../schemas/events/account/user-events.ts';
import { expectNothingTheSecondTime, given, refusalBy } from '../../../../shared/testing/given.ts';
import { walletIdentity } from './identity.ts';
import type { AssignedAccount } from '../../../../schemas/events/account/user-events.ts';
import {
  eraseUser,
  isErased,
  isVoid,
  logIn,
  unlinkIdentity,
  updateMessenger,
  updateProfile,
  userFold,
  userIdFrom,
} from './user.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const wallet = walletIdentity('0x70997970C51812dc3A010C7d01b50e0d17dc79C8');
const userId = 'usr_1';
const login = { ...wallet, userId, appId: 'app_1', sessionId: 'ses_1' };
const { identityId, method } = wallet;
const registered: UserEvent = { type: 'UserRegistered', data: { userId } };
const linked: UserEvent = { type: 'IdentityLinked', data: { userId, identityId, method, label: wallet.label } };
const loggedIn = (sessionId: string): UserEvent => ({
  type: 'UserLoggedIn',
  data: { userId, identityId, method, appId: 'app_1', sessionId },
});
const erased: UserEvent = { type: 'UserErased', data: { userId } };
const at = (...events: UserEvent[]): [UserEvent, number][] => events.map((event) => [event, NOON]);

describe('a user', () => {
  it('is registered and linked with its identity by the first login only', () => {
    given(userFold, []).decides((user) => logIn(user, login), [registered, linked, loggedIn('ses_1')]);
    given(userFold, at(registered, linked, loggedIn('ses_0'))).decides(
      (user) => logIn(user, login),
      [loggedIn('ses_1')],
    );
  });

  it('is linked with another identity by the first login with it', () => {
    const second = { identityId: 'other', method: 'email' as const, label: 'ada@shop.example' };
    const { decides } = given(userFold, at(registered, linked, loggedIn('ses_1')));
    decides(
      (user) => logIn(user, { ...login, ...second, sessionId: 'ses_2' }),
      [
        { type: 'IdentityLinked', data: { userId, ...second } },
        {
          type: 'UserLoggedIn',
          data: { userId, identityId: 'other', method: 'email', appId: 'app_1', sessionId: 'ses_2' },
        },
      ],
    );
    const both = at(registered, linked, { type: 'IdentityLinked', data: { userId, ...second } });
    given(userFold, both).decides((user) => logIn(user, login), [loggedIn('ses_1')]);
  });

  it('is assigned an account on each chain by the first login since that is configured', () => {
    const accountOn = (chainId: number): AssignedAccount => ({
      chainId,
      address: '0x1234567890AbcdEF1234567890aBcdef12345678',
      owner: wallet.label,
      factory: '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985',
      entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
    });
    const assigned = (chainId: number): UserEvent => ({
      type: 'SmartAccountAssigned',
      data: { userId, ...accountOn(chainId) },
    });
    const onBoth = (user: typeof userFold.initial) =>
      logIn(user, { ...login, smartAccounts: [accountOn(1), accountOn(10)] });
    given(userFold, []).decides(onBoth, [registered, assigned(1), assigned(10), linked, loggedIn('ses_1')]);
    given(userFold, at(registered, assigned(1), assigned(5), linked)).decides(onBoth, [
      assigned(10),
      loggedIn('ses_1'),
    ]);
    given(userFold, at(registered, assigned(1), assigned(10), linked, loggedIn('ses_1'))).decides(onBoth, []);
  });

  it('has of a login what the app said of it, and what the method knows, where its profile is empty', () => {
    const { data } = loggedIn('ses_1') as Extract<UserEvent, { type: 'UserLoggedIn' }>;
    given(userFold, at(registered, linked)).decides(
      (user) => logIn(user, { ...login, domainId: 0 }),
      [{ type: 'UserLoggedIn', data: { ...data, domainId: 0 } }],
    );
    const profile = { username: 'ada', firstname: 'Ada', lastname: null };
    const filled = (changes: object): UserEvent => ({ type: 'ProfileUpdated', data: { userId, changes } });
    given(userFold, []).decides(
      (user) => logIn(user, { ...login, profile }),
      [registered, linked, loggedIn('ses_1'), filled({ username: 'ada', firstname: 'Ada' })],
    );
    given(userFold, at(registered, linked, filled({ username: 'countess', lastname: 'L' }))).decides(
      (user) => logIn(user, { ...login, profile }),
      [loggedIn('ses_1'), filled({ firstname: 'Ada' })],
    );
    given(userFold, at(registered, linked, loggedIn('ses_1'))).decides(
      (user) => logIn(user, { ...login, profile }),
      [],
    );
  });

  it('is unlinked from an identity, once, and never from its last one', () => {
    const other = { identityId: 'other', method: 'email' as const, label: 'ada@shop.example' };
    const linkedOther: UserEvent = { type: 'IdentityLinked', data: { userId, ...other } };
    const unlinked = (claim: number): UserEvent => ({
      type: 'IdentityUnlinked',
      data: { userId, identityId, method, claim },
    });
    const unlink = (claim: number) => (user: typeof userFold.initial) =>
      unlinkIdentity(user, { userId, identityId, claim });
    const both = at(registered, linked, linkedOther);
    given(userFold, both).decides(unlink(1), [unlinked(1)]);
    given(userFold, at(registered, linked)).refuses(unlink(1), 'last_identity', /link another/);
    for (const state of [given(userFold, at(registered, linkedOther)).state, userFold.initial]) {
      expect(refusalBy(() => unlink(0)(state)).code).toBe('identity_not_found');
    }
    given(userFold, at(registered, linkedOther)).refuses(
      (user) => unlinkIdentity(user, { userId, identityId: 'toString', claim: 0 }),
      'identity_not_found',
    );
    given(userFold, [...both, ...at(unlinked(1))]).decides(unlink(1), []);
    const again = given(userFold, [...both, ...at(unlinked(1), linked)]);
    again.decides(unlink(1), []);
    again.decides(unlink(2), [unlinked(2)]);
    expectNothingTheSecondTime(userFold, again.state, unlink(2), NOON);
  });

  it('has no use of the claims of an identity up to the newest that was unlinked, and of none once it is erased', () => {
    const unlinked: UserEvent = { type: 'IdentityUnlinked', data: { userId, identityId, method, claim: 2 } };
    const { state } = given(userFold, at(registered, linked, unlinked));
    expect([1, 2, 3].map((claim) => isVoid(state, identityId, claim))).toEqual([true, true, false]);
    expect(isVoid(state, 'other', 1)).toBe(false);
    expect(isVoid(given(userFold, at(registered, linked, erased)).state, identityId, 3)).toBe(true);
  });

  it('is erased once, and changes no more', () => {
    const erase = (user: typeof userFold.initial) => eraseUser(user, userId);
    given(userFold, []).refuses(erase, 'user_not_found', /no user has this id/);
    expect(isErased(userFold.initial)).toBe(false);
    const known = given(userFold, at(registered, linked));
    expect(isErased(known.state)).toBe(false);
    known.decides(erase, [erased]);
    const { state, decides, refuses } = given(userFold, at(registered, linked, erased));
    expect(isErased(state)).toBe(true);
    decides(erase, []);
    refuses((user) => updateProfile(user, userId, {}), 'user_erased', /this user was erased/);
    refuses((user) => updateMessenger(user, userId, {}), 'user_erased', /this user was erased/);
  });

  it('is not made by a change', () => {
    const { refuses } = given(userFold, []);
    refuses((user) => updateProfile(user, userId, { username: 'ada' }), 'user_not_found', /no user has this id/);
    refuses((user) => updateMessenger(user, userId, { messengerId: '42' }), 'user_not_found', /no user has this id/);
  });

  it('records only members of its messenger that differ', () => {
    const claimed = (changes: object): UserEvent => ({ type: 'MessengerUpdated', data: { userId, changes } });
    const known = given(userFold, at(registered, claimed({ messengerId: '42', messengerVerified: false })));
    known.decides((user) => updateMessenger(user, userId, { messengerId: '42', messengerUsername: null }), []);
    known.decides((user) => updateMessenger(user, userId, {}), []);
    known.decides(
      (user) => updateMessenger(user, userId, { messengerId: '43', messengerVerified: false }),
      [claimed({ messengerId: '43' })],
    );
    known.decides((user) => updateMessenger(user, userId, { messengerId: null }), [claimed({ messengerId: null })]);
  });

  it('remembers its last 64 logins with the ids of their events', () => {
    const logins = Array.from({ length: 66 }, (_, index) => loggedIn(`ses_${String(index)}`));
    const { state } = given(userFold, at(registered, ...logins, linked));
    expect(state.logins).toHaveLength(64);
    expect(state.logins[0]).toEqual({ sessionId: 'ses_2', eventId: 'event-3' });
    expect(state.logins.at(-1)).toEqual({ sessionId: 'ses_65', eventId: 'event-66' });
  });

  it('is folded from its events', () => {
    const { state } = given(userFold, at(registered, linked, loggedIn('ses_1')));
    expect(state.entity).toMatchObject({
      id: userId,
      username: null,
      identities: [{ id: identityId, method: 'wallet', label: wallet.label, linkedAt: '2026-01-02T12:00:00.000Z' }],
      createdAt: '2026-01-02T12:00:00.000Z',
      revision: 2,
    });
  });

  it('records only members of the profile that differ', () => {
    const named = at(registered, {
      type: 'ProfileUpdated',
      data: { userId, changes: { username: 'ada', avatar: null } },
    });
    given(userFold, named).decides(
      (user) => updateProfile(user, userId, { username: 'ada', firstname: 'Ada', avatar: null }),
      [{ type: 'ProfileUpdated', data: { userId, changes: { firstname: 'Ada' } } }],
    );
    given(userFold, named).decides((user) => updateProfile(user, userId, {}), []);
    given(userFold, named).decides(
      (user) => updateProfile(user, userId, { username: null }),
      [{ type: 'ProfileUpdated', data: { userId, changes: { username: null } } }],
    );
  });

  it('keeps members that a profile update does not mention', () => {
    given(userFold, at(registered)).decides((user) => updateProfile(user, userId, {}), []);
  });

  it('has an id and a stream name', () => {
    expect(userIdFrom('1')).toBe('usr_1');
    expect(userStream('usr_1')).toBe('user-usr_1');
  });

  it('records nothing when the same login or update comes again', () => {
    const text = fc.option(fc.string({ minLength: 1 }));
    const changes = fc.record({ username: text, lastname: text, signature: text }, { requiredKeys: [] });
    const history = fc.array(
      fc.oneof(
        fc.constantFrom(registered, linked, loggedIn('ses_1'), loggedIn('ses_2')),
        changes.map((one): UserEvent => ({ type: 'ProfileUpdated', data: { userId, changes: one } })),
      ),
    );
    fc.assert(
      fc.property(history, changes, (events, update) => {
        const { state } = given(userFold, at(...events));
        expectNothingTheSecondTime(userFold, state, (user) => logIn(user, login), NOON);
        if (!state.entity) return;
        expectNothingTheSecondTime(userFold, state, (user) => updateProfile(user, userId, update), NOON);
      }),
    );
  });
});
