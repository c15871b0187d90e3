import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { HistoryPage } from '../../../schemas/http/account/history.ts';
import type { UserEntity } from '../../../schemas/http/account/user-entity.ts';
import { historyModel } from '../../../shared/read-models/account/history.ts';
import { personalDataOf } from '../../../shared/key-vault/personal-data.ts';
import { usersModel } from '../../../shared/read-models/account/users.ts';
import { storedEvent } from '../../../shared/testing/event-builder.ts';
import { SignedText } from '../../../shared/keys/signed-text.ts';
import { codeOf } from '../../../shared/testing/http/problem-of-answer.ts';
import { projectInto, projectStored } from '../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../testing/account-under-test.ethers.ts';
import { bearer } from '../testing/sessions.ts';

const folder = temporaryFolder();

describe('users', () => {
  let account: AccountUnderTest;
  let userId: string;
  let headers: { authorization: string };
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
    const session = await account.logIn(account.newWallet());
    userId = session.userId;
    headers = bearer(session);
  });
  afterAll(() => account.service.close());

  const update = (body: unknown, id = userId) => account.ask(`/user/${id}/profile`, { method: 'POST', headers, body });
  const eventsOf = async (id: string) =>
    personalDataOf(account.foundation).open(await account.foundation.eventStore.read(`user-${id}`));
  const projectUsers = () => projectStored(account.foundation, [usersModel]);

  it('change members of their profile and receive the whole user', async () => {
    const answer = await update({
      username: ' ada ',
      signature: 'hello',
      email: 'dropped@example.org',
      messengerId: 'x',
    });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      id: userId,
      username: 'ada',
      firstname: null,
      lastname: null,
      avatar: null,
      signature: 'hello',
      messengerId: null,
      messengerUsername: null,
      messengerFirstName: null,
      messengerLastName: null,
      messengerAvatarUrl: null,
      messengerAuthDate: null,
      messengerVerified: null,
      identities: [expect.objectContaining({ method: 'wallet' })],
      smartAccounts: [],
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      revision: 3,
    });
    expect((await eventsOf(userId)).at(-1)?.data).toEqual({ userId, changes: { username: 'ada', signature: 'hello' } });
  });

  it('have the trace of a request stored with the event that it caused', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const body = { signature: 'traced' };
    await account.ask(`/user/${userId}/profile`, { method: 'POST', headers: { ...headers, traceparent }, body });
    const changed = (await eventsOf(userId)).at(-1);
    expect(changed?.data).toEqual({ userId, changes: body });
    expect(changed?.metadata.traceparent).toBe(traceparent);
  });

  it('append no event when the profile is already so, or when the body is empty', async () => {
    await update({ username: 'ada' });
    const before = await eventsOf(userId);
    for (const body of [{ username: 'ada' }, { username: ' ada' }, {}, { firstname: null }, { lastname: ' ' }]) {
      const answer = await update(body);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-position')).toMatch(/^[\w-]{20,}$/);
    }
    expect(await eventsOf(userId)).toHaveLength(before.length);
  });

  it.each([
    ['an operator object', { username: { $gt: '' } }],
    ['a number', { username: 7 }],
    ['too long a name', { username: 'x'.repeat(51) }],
    ['a script as avatar', { avatar: 'javascript:alert(1)' }],
    ['a list', []],
  ])('cannot send %s as a profile', async (_, body) => {
    expect(await codeOf(await update(body))).toBe('validation_failed');
  });

  it('cannot change the profile of another user', async () => {
    expect(await codeOf(await update({ username: 'x' }, 'usr_other'))).toBe('forbidden');
  });

  it('see all members of themselves and four members of others', async () => {
    const bob = await account.logIn(account.newWallet());
    const avatar = 'https://img.example/b.png';
    await account.ask(`/user/${bob.userId}/profile`, {
      method: 'POST',
      headers: bearer(bob),
      body: { username: 'bob', signature: 'for himself', avatar },
    });
    const own = (await (await update({ avatar: 'https://img.example/a.png' })).json()) as UserEntity;
    await projectUsers();
    expect(await (await account.ask(`/user/${userId}`, { headers })).json()).toEqual(own);
    const other = (await (await account.ask(`/user/${bob.userId}`, { headers })).json()) as UserEntity;
    expect(other).toEqual({ id: bob.userId, username: 'bob', avatar, createdAt: expect.any(String) });
  });

  it('are found, or reported as not found, only when the read model is up to date', async () => {
    await update({ firstname: 'Ada' });
    expect(await codeOf(await account.ask('/user/usr_none', { headers }))).toBe('not_caught_up');
    await projectUsers();
    expect(await codeOf(await account.ask('/user/usr_none', { headers }))).toBe('user_not_found');
    for (const id of ['%7B%22$gt%22:%22%22%7D', '__proto__', 'constructor', '..%2F..%2Fetc']) {
      expect(await codeOf(await account.ask(`/user/${id}`, { headers }))).toBe('user_not_found');
    }
  });

  it('need a token', async () => {
    for (const path of [`/user/${userId}`, `/user/${userId}/history`]) {
      expect(await codeOf(await account.ask(path))).toBe('token_missing');
    }
  });

  describe('the history of a user', () => {
    const read = async (query: string) => {
      const answer = await account.ask(`/user/${userId}/history?${query}`, { headers });
      return answer.ok ? ((await answer.json()) as HistoryPage) : codeOf(answer);
    };
    beforeAll(async () => {
      const events = ['usr_other', userId].flatMap((id, at) =>
        Array.from({ length: 25 }, (_, sequence) =>
          storedEvent(
            sequence % 2 === 0 ? 'UserLoggedIn' : 'ProfileUpdated',
            { userId: id },
            { position: 100 * at + sequence },
          ),
        ),
      );
      await projectInto(account.foundation.readStore, [historyModel], events);
    });

    it('comes in pages, oldest first, without internal members', async () => {
      const positions = new SignedText(account.foundation.masterKey, 'positions');
      const seen: number[] = [];
      let next: string | null = '';
      while (next !== null) {
        const page: HistoryPage | string = await read(`take=7${next === '' ? '' : `&cursor=${next}`}`);
        if (typeof page === 'string') throw new Error(page);
        expect(page.take).toBe(7);
        for (const one of page.items) {
          expect(Object.keys(one)).toEqual([
            'type',
            'time',
            'actor',
            'app',
            'session',
            'requestId',
            'data',
            'position',
            'hash',
          ]);
          seen.push(Number(positions.read('', one.position)));
        }
        next = page.next;
      }
      expect(seen).toEqual(Array.from({ length: 25 }, (_, sequence) => 100 + sequence));
    });

    it('can be filtered by event type', async () => {
      expect(await read('type=ProfileUpdated&take=20')).toMatchObject({ items: { length: 12 }, next: null });
      expect(await read('type=Nothing')).toMatchObject({ items: [], take: 10, next: null });
    });

    it('is read by nobody else', async () => {
      expect(await codeOf(await account.ask('/user/usr_other/history', { headers }))).toBe('forbidden');
    });

    it('refuses a cursor of another user, and one that it did not issue', async () => {
      const page = await read('take=1');
      const cursor = typeof page === 'string' ? '' : (page.next ?? '');
      expect(await read(`cursor=${cursor}`)).toMatchObject({ take: 10 });
      const others = new SignedText(account.foundation.masterKey, 'history cursors').write('usr_2', '0');
      for (const wrong of ['0', '7-00000000', `${cursor}0`, cursor.toUpperCase(), others, '{"$gt":""}']) {
        expect(await read(`cursor=${encodeURIComponent(wrong)}`)).toBe('cursor_invalid');
      }
      for (const wrong of ['take=0', 'take=1001', 'take=many', 'take=1.5', 'take=1&take=2']) {
        expect(await read(wrong)).toBe('validation_failed');
      }
    });
  });
});
