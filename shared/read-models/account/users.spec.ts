import { describe, expect, it } from '@jest/globals';
import { storedEvent } from '../../testing/event-builder.ts';
import { project } from '../../testing/project.ts';
import { usersModel } from './users.ts';

const userId = 'usr_1';
const time = (hour: number): number => Date.parse('2026-01-02T00:00:00.000Z') + hour * 3_600_000;

const registered = storedEvent('UserRegistered', { userId }, { position: 1, revision: 0, time: time(1) });
const linked = storedEvent(
  'IdentityLinked',
  { userId, identityId: 'id_1', method: 'wallet', label: '0xAb' },
  { position: 2, revision: 1, time: time(2) },
);
const loggedIn = storedEvent('UserLoggedIn', { userId }, { position: 3, revision: 2, time: time(3) });

const documentOf = async (...events: Parameters<typeof project>[1]) =>
  (await project(usersModel, events))['user']?.[userId];

describe('a user', () => {
  it('is registered, linked to its first identity, and changed by a login only in its revision', async () => {
    expect(await project(usersModel, [registered, linked, loggedIn])).toEqual({
      user: {
        usr_1: {
          id: 'usr_1',
          username: null,
          firstname: null,
          lastname: null,
          avatar: null,
          signature: null,
          messengerId: null,
          messengerUsername: null,
          messengerFirstName: null,
          messengerLastName: null,
          messengerAvatarUrl: null,
          messengerAuthDate: null,
          messengerVerified: null,
          identities: [{ id: 'id_1', method: 'wallet', label: '0xAb', linkedAt: '2026-01-02T02:00:00.000Z' }],
          smartAccounts: [],
          deployments: [],
          createdAt: '2026-01-02T01:00:00.000Z',
          updatedAt: '2026-01-02T02:00:00.000Z',
          revision: 2,
          messengerSince: 0,
          erasedAt: null,
        },
      },
    });
  });

  it('keeps nothing of itself but its times when it is erased', async () => {
    const named = storedEvent('ProfileUpdated', { userId, changes: { username: 'ada' } }, { position: 4, revision: 3 });
    const erased = storedEvent('UserErased', { userId }, { position: 5, revision: 4, time: time(5) });
    const document = await documentOf(registered, linked, loggedIn, named, erased);
    expect(document).toMatchObject({
      ...{ username: null, identities: [], revision: 4 },
      ...{ createdAt: '2026-01-02T01:00:00.000Z', erasedAt: '2026-01-02T05:00:00.000Z' },
    });
  });

  it('has a verified messenger only while an identity of that messenger is linked', async () => {
    const messenger = (messengerId: string, position: number, messengerVerified = true) =>
      storedEvent(
        'MessengerUpdated',
        { userId, changes: { messengerId, messengerVerified } },
        { position, revision: 3 },
      );
    const identity = { userId, identityId: 'id_m', method: 'messenger' as const };
    const link = storedEvent('IdentityLinked', { ...identity, label: '42' }, { position: 6, revision: 4 });
    const unlink = storedEvent('IdentityUnlinked', { ...identity, claim: 1 }, { position: 8, revision: 6 });
    const claimed = [registered, messenger('41', 5)];
    expect(await documentOf(...claimed)).toMatchObject({
      messengerId: '41',
      messengerVerified: false,
      messengerSince: 5,
    });
    expect(await documentOf(...claimed, link)).toMatchObject({
      ...{ messengerId: '42', messengerVerified: true, messengerSince: 6 },
    });
    expect(await documentOf(...claimed, link, messenger('42', 7, false))).toMatchObject({
      ...{ messengerVerified: true, messengerSince: 6 },
    });
    expect(await documentOf(...claimed, link, messenger('43', 7))).toMatchObject({
      ...{ messengerVerified: false, messengerSince: 7 },
    });
    expect(await documentOf(...claimed, link, unlink)).toMatchObject({ messengerId: '42', messengerVerified: false });
  });

  it('has the identities in the order in which they were linked', async () => {
    const another = storedEvent(
      'IdentityLinked',
      { userId, identityId: 'id_2', method: 'email', label: 'ada@example.org' },
      { position: 4, revision: 3, time: time(4) },
    );
    expect(await documentOf(registered, linked, loggedIn, another)).toMatchObject({
      identities: [
        { id: 'id_1', method: 'wallet', label: '0xAb', linkedAt: '2026-01-02T02:00:00.000Z' },
        { id: 'id_2', method: 'email', label: 'ada@example.org', linkedAt: '2026-01-02T04:00:00.000Z' },
      ],
      createdAt: '2026-01-02T01:00:00.000Z',
      updatedAt: '2026-01-02T04:00:00.000Z',
      revision: 3,
    });
  });

  it('has the members of the profile that were changed, and keeps the others', async () => {
    const named = storedEvent(
      'ProfileUpdated',
      {
        userId,
        changes: { username: 'ada', firstname: 'Ada', lastname: 'King', avatar: 'https://a.example', signature: 'hi' },
      },
      { position: 4, revision: 3, time: time(4) },
    );
    const all = { username: 'ada', firstname: 'Ada', lastname: 'King', avatar: 'https://a.example', signature: 'hi' };
    expect(await documentOf(registered, linked, loggedIn, named)).toMatchObject({
      ...all,
      identities: [{ id: 'id_1' }],
      createdAt: '2026-01-02T01:00:00.000Z',
      updatedAt: '2026-01-02T04:00:00.000Z',
      revision: 3,
    });
    const changed = storedEvent(
      'ProfileUpdated',
      { userId, changes: { username: 'countess', signature: null } },
      { position: 9, revision: 4, time: time(5) },
    );
    expect(await documentOf(registered, linked, loggedIn, named, changed)).toMatchObject({
      ...{ ...all, username: 'countess', signature: null },
      updatedAt: '2026-01-02T05:00:00.000Z',
      revision: 4,
    });
  });

  it('is created by its first event of any type, and takes createdAt from UserRegistered', async () => {
    const first = storedEvent('UserLoggedIn', { userId }, { position: 1, revision: 0, time: time(1) });
    const created = { createdAt: '2026-01-02T01:00:00.000Z', updatedAt: '2026-01-02T01:00:00.000Z', revision: 0 };
    expect(await documentOf(first)).toMatchObject({ id: 'usr_1', identities: [], ...created });
    const late = storedEvent('UserRegistered', { userId }, { position: 5, revision: 1, time: time(6) });
    expect(await documentOf(linked, late)).toMatchObject({
      identities: [{ id: 'id_1', linkedAt: '2026-01-02T02:00:00.000Z' }],
      createdAt: '2026-01-02T06:00:00.000Z',
      updatedAt: '2026-01-02T06:00:00.000Z',
      revision: 1,
    });
  });

  it('has a smart account that is deployed while an operation that deployed it is included', async () => {
    const account = (chainId: number, position: number) =>
      storedEvent('SmartAccountAssigned', { userId, chainId }, { position, revision: position - 1 });
    const change = { userId, chainId: 10 };
    const at = { position: 6, time: time(6) };
    const included = storedEvent('TxIncluded', { ...change, transactionId: 'tx_1' }, at);
    const reverted = storedEvent('TxReverted', { ...change, transactionId: 'tx_1', deployed: true }, at);
    const reorged = storedEvent('TxReorged', { ...change, transactionId: 'tx_1' }, { position: 8 });
    const before = [registered, account(10, 4), account(5, 5)];
    const deployed = async (...events: typeof before) => {
      const accounts = (await documentOf(...before, ...events))?.['smartAccounts'];
      return (accounts as { chainId: number; deployed: boolean }[])
        .filter((one) => one.deployed)
        .map((one) => one.chainId);
    };
    expect(await deployed()).toEqual([]);
    expect(await deployed(included)).toEqual([10]);
    expect(await deployed(reverted)).toEqual([10]);
    expect(await deployed(included, reorged)).toEqual([]);
    expect(await documentOf(...before, included)).toMatchObject({
      deployments: [{ chainId: 10, transactionId: 'tx_1', position: 6, time: '2026-01-02T06:00:00.000Z' }],
      ...{ revision: 4, updatedAt: '2023-11-14T22:13:20.000Z' },
    });

    const other = (type: 'TxIncluded' | 'TxReorged', more: object) =>
      storedEvent(type, { ...change, transactionId: 'tx_2', ...more }, { position: 7 });
    expect(await deployed(included, other('TxReorged', {}))).toEqual([10]);
    expect(await deployed(other('TxIncluded', { deployed: false }))).toEqual([]);
    expect(await deployed(other('TxIncluded', { userId: null }))).toEqual([]);
    expect(await deployed(other('TxIncluded', { chainId: 7 }))).toEqual([]);
    // The block of the first deployment leaves the chain after another operation has deployed the account.
    expect(await deployed(included, other('TxIncluded', {}), reorged)).toEqual([10]);
    const again = storedEvent('TxIncluded', { ...change, transactionId: 'tx_1' }, { position: 9 });
    expect(await deployed(included, reorged, again)).toEqual([10]);
    expect(await documentOf(...before, included, reorged, again)).toMatchObject({
      deployments: [
        { transactionId: 'tx_1', position: 6, until: 8 },
        { transactionId: 'tx_1', position: 9, until: null },
      ],
    });
  });

  it('is not made by a transaction', async () => {
    const included = storedEvent('TxIncluded', { userId }, { position: 1 });
    expect(await documentOf(included, storedEvent('TxReorged', { userId }, { position: 2 }))).toBeUndefined();
  });

  it('is not changed by events of another user, nor by its own when they are delivered again', async () => {
    const other = storedEvent('UserRegistered', { userId: 'usr_2' }, { position: 4, time: time(4) });
    const { user } = await project(usersModel, [registered, linked, other, linked]);
    expect(Object.keys(user ?? {})).toEqual(['usr_1', 'usr_2']);
    expect(user?.['usr_1']).toMatchObject({ identities: [{ id: 'id_1' }], revision: 1 });
    expect(user?.['usr_2']).toMatchObject({ id: 'usr_2', identities: [], createdAt: '2026-01-02T04:00:00.000Z' });
  });
});
