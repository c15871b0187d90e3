import { userStream } from '../../../../schemas/events/account/user-events.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { requestedPassword } from '../../../../schemas/http/account/one-time-password-routes.ts';
import type { Session } from '../../../../schemas/http/account/session.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { codeOf } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { userFold } from '../../users/domain/user.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { BotApi } from '../../testing/bot-api.ts';
import { newestPassword, passwordIn } from '../../testing/one-time-passwords.ts';
import { bearer, sessionOf } from '../../testing/sessions.ts';

const folder = temporaryFolder();
const names = { username: 'ada', firstname: 'Ada', lastname: 'Lovelace', avatarUrl: 'https://img.example/ada.png' };

describe('logging in with a one-time password by messenger', () => {
  let api: BotApi;
  let account: AccountUnderTest;
  let people = 1_000;
  beforeAll(async () => {
    api = await new BotApi().start();
    account = await startAccountUnderTest(folder, api.settings);
  });
  afterAll(async () => {
    await account.service.close();
    await api.stop();
  });
  beforeEach(() => {
    api.behaviour.retryAfter = undefined;
    // What was down is asked again.
    account.clock.time += 20_000;
  });

  const someone = () => String((people += 1));
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    account.ask(path, { method: 'POST', headers: { ...account.appHeaders(), ...headers }, body });
  const request = (messengerId: string) => post('/auth/messenger-otp-request', { messengerId });
  const logIn = (messengerId: string, otp: string, changes: object = {}, headers: Record<string, string> = {}) =>
    post('/auth/messenger-login', { messengerId, otp, ...changes }, headers);
  const sentTo = (id: string) => api.sent.filter(({ messengerId }) => messengerId === id);
  const requested = async (messengerId: string): Promise<string> => {
    const before = sentTo(messengerId).length;
    expect((await request(messengerId)).status).toBe(201);
    await eventually(() => sentTo(messengerId).length > before, 3_000, 'the bot must send a message');
    return passwordIn(sentTo(messengerId).at(-1)?.text ?? '');
  };
  const userOf = async ({ userId }: Session) =>
    (await account.transactor.load(userStream(userId), userFold)).state.entity;

  it('makes a user with the names that were given, and finds that user again', async () => {
    const id = someone();
    const first = await sessionOf(await logIn(id, await requested(id), names));
    expect(decodeJwt(first.accessToken)).toMatchObject({ sub: first.userId, amr: ['messenger'] });
    const { avatarUrl: avatar, ...rest } = names;
    expect(await userOf(first)).toMatchObject({ ...rest, avatar, identities: [{ method: 'messenger', label: id }] });
    const again = await sessionOf(await logIn(id, await requested(id)));
    expect(again.userId).toBe(first.userId);
  });

  it('fills members of the profile that are empty, and changes none', async () => {
    const id = someone();
    const first = await sessionOf(await logIn(id, await requested(id), { username: 'ada', lastname: '' }));
    await post(`/user/${first.userId}/profile`, { signature: 'mine' }, bearer(first));
    const changes = { ...names, username: 'eve', avatarUrl: null };
    await sessionOf(await logIn(id, await requested(id), changes));
    expect(await userOf(first)).toMatchObject({
      ...{ username: 'ada', firstname: 'Ada', lastname: 'Lovelace' },
      ...{ avatar: null, signature: 'mine' },
    });
  });

  it('makes names fit that no profile may have, and leaves out what cannot be', async () => {
    const id = someone();
    const said = {
      username: 'a'.repeat(64),
      firstname: '\u200eAda\u2060',
      lastname: '\u3164',
      avatarUrl: 'http://t.me/i/ada.jpg',
    };
    const session = await sessionOf(await logIn(id, await requested(id), said));
    expect(await userOf(session)).toMatchObject({
      ...{ username: 'a'.repeat(50), firstname: 'Ada' },
      ...{ lastname: null, avatar: null },
    });
  });

  it('names the site, and writes to that person', async () => {
    const id = someone();
    const otp = await requested(id);
    expect(sentTo(id).at(-1)).toMatchObject({
      text: expect.stringMatching(new RegExp(`^${otp} is your code for app\\.example\\.`)) as unknown,
      button: undefined,
    });
  });

  it('links a user of the messenger to the user of a bearer token', async () => {
    const id = someone();
    const wallet = await account.logIn(account.newWallet());
    const linked = await sessionOf(await logIn(id, await requested(id), {}, bearer(wallet)));
    expect(linked.userId).toBe(wallet.userId);
  });

  it.each(['007', 'abc', '-1001234', '@channel', '1e3', '0', '12345678901234567'])(
    'refuses %s, which is the id of nobody',
    async (id) => {
      expect(await codeOf(await request(id))).toBe('validation_failed');
      expect(await codeOf(await logIn(id, '000000'))).toBe('validation_failed');
    },
  );

  it('answers the same, and as soon, to people who blocked the bot or never wrote to it', async () => {
    const [known, blocked, unknown] = [someone(), someone(), someone()];
    api.behaviour.blocked.add(blocked);
    api.behaviour.unknown.add(unknown);
    const answers = [];
    for (const id of [known, blocked, unknown]) {
      const answer = await request(id);
      answers.push({ status: answer.status, body: { ...requestedPassword.parse(await answer.json()), token: '' } });
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    // And they keep nobody else from being written to.
    await requested(someone());
  });

  it.each([429, 502, 400, 403])('sends to others although the messenger answers %d for one person', async (status) => {
    const id = someone();
    api.behaviour.refused.set(id, status);
    for (const who of [id, id, id]) expect((await request(who)).status).toBe(201);
    await requested(someone());
  });

  it('is sent to nobody while the messenger does not know the bot', async () => {
    api.behaviour.refused.set('401', 401);
    expect((await request('401')).status).toBe(201);
    // A message to anybody else could be accepted after the refusal, which would say that the messenger is back.
    const isDown = async () => (await request('401')).status === 503;
    await eventually(isDown, 3_000, 'it must say that no message can be sent');
  });

  it('is not told "sent" while the messenger takes nothing, and answers at once', async () => {
    const hanging = await new BotApi().start();
    await using impatient = await startAccountUnderTest(folder, hanging.settings, { messageWithinMs: 500 });
    const request = (messengerId: string) =>
      impatient.ask('/auth/messenger-otp-request', {
        method: 'POST',
        headers: impatient.appHeaders(),
        body: { messengerId },
      });
    const reasons = () => impatient.foundation.logged.map(({ reason }) => String(reason)).join('\n');
    hanging.behaviour.hangs = true;
    const isDown = async () => (await request(someone())).status === 503;
    await eventually(isDown, 15_000, 'it must say that no message can be sent');
    expect(await codeOf(await request(someone()))).toBe('dependency_unavailable');
    hanging.behaviour.hangs = false;
    const before = hanging.sent.length;
    const isUp = async () => {
      // Of the messages that hung, more than one may time out.
      impatient.clock.time += 10_000;
      await request(someone());
      return hanging.sent.length > before;
    };
    await eventually(isUp, 20_000, 'it must send messages again');
    expect(reasons()).toContain('the messenger does not answer');
    expect(JSON.stringify(impatient.foundation.logged)).not.toContain(hanging.token);
    await hanging.stop();
  });

  it('goes to the development mailbox where no bot is set up', async () => {
    await using development = await startAccountUnderTest(folder);
    const ask = (path: string, body: object) =>
      development.ask(path, { method: 'POST', headers: development.appHeaders(), body });
    await ask('/auth/messenger-otp-request', { messengerId: '77' });
    const otp = await newestPassword(development.service.url, '77');
    await sessionOf(await ask('/auth/messenger-login', { messengerId: '77', otp }));
  });
});
