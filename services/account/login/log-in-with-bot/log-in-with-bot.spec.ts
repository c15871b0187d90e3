import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { StartedLogin } from '../../../../schemas/http/account/oauth-routes.ts';
import type { Session } from '../../../../schemas/http/account/session.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import { codeOf } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { withoutAppendsTo } from '../../../../shared/testing/without-appends-to.ts';
import type { RegisteredApp } from '../../apps/register-app/register-app.handler.ts';
import { ORIGIN, startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { BotApi } from '../../testing/bot-api.ts';
import { expectOneLoginOfAThousand } from '../../testing/one-of-a-thousand.ts';
import { bearer, sessionOf } from '../../testing/sessions.ts';

const REDIRECT_URI = `${ORIGIN}/callback?from=bot`;
const SECRET = 'x-telegram-bot-api-secret-token';
const folder = temporaryFolder();

describe('logging in through the bot', () => {
  const bot = new BotApi();
  let account: AccountUnderTest;
  let app: RegisteredApp;
  beforeAll(async () => {
    await bot.start();
    account = await startAccountUnderTest(folder, bot.settings);
    app = await account.register({ redirectUris: [REDIRECT_URI, 'http://localhost:5173/callback'] });
  });
  afterAll(async () => {
    await account.service.close();
    await bot.stop();
  });
  beforeEach(() => {
    bot.sent.splice(0);
  });

  const headers = (session?: Session, by = app) => ({
    ...account.appHeaders({}, by),
    ...(session && bearer(session)),
  });
  const started = async (session?: Session, query = ''): Promise<StartedLogin> => {
    const answer = await account.ask(`/auth/messenger${query}`, { headers: headers(session) });
    expect(answer.status).toBe(200);
    return (await answer.json()) as StartedLogin;
  };
  const tell = (body: object, secret: Record<string, string> = { [SECRET]: bot.settings.MESSENGER_WEBHOOK_SECRET }) =>
    account.ask('/auth/messenger/webhook', { method: 'POST', headers: secret, body });
  const update = (state: string, id: number, changes: object = {}) => ({
    update_id: 1,
    message: {
      message_id: 1,
      text: `/start ${state}`,
      chat: { id, type: 'private' },
      from: { id, is_bot: false, first_name: 'Ada', username: 'ada' },
      ...changes,
    },
  });
  /** Opens the bot with the state, and returns what its button leads to. */
  const open = async (state: string, id: number) => {
    expect((await tell(update(state, id))).status).toBe(200);
    const { button } = bot.sent.at(-1) ?? {};
    return Object.fromEntries(new URL(button?.url ?? '').searchParams) as { state: string; code: string };
  };
  const callback = (body: object, session?: Session, by = app) =>
    account.ask('/auth/messenger/callback', { method: 'POST', headers: headers(session, by), body });
  const storedOf = (state: string) => account.foundation.eventStore.read(`state-${sha256(state)}`);

  it('makes a user of whoever opens the bot, presses start, and comes back with its code', async () => {
    const { url, state } = await started();
    expect(url).toBe(`https://t.me/annals_bot?start=${state}`);
    const { code, ...rest } = await open(state, 4711);
    expect(rest).toEqual({ from: 'bot', state });
    const [message] = bot.sent;
    expect(message).toMatchObject({ messengerId: '4711', text: expect.stringContaining(code) as unknown });
    expect(message?.button?.url).toContain(`${ORIGIN}/callback?`);
    const session = await sessionOf(await callback({ state, code }));
    expect(session.userId).toMatch(/^usr_/);
    expect(decodeJwt(session.accessToken)).toMatchObject({ amr: ['messenger'], app: app.id });
    expect(await codeOf(await callback({ state, code }))).toBe('state_unknown');
    const again = await started();
    expect((await sessionOf(await callback(await open(again.state, 4711)))).userId).toBe(session.userId);
    const other = await started();
    expect((await sessionOf(await callback(await open(other.state, 4712)))).userId).not.toBe(session.userId);
  });

  it('stores neither state nor code nor who it is in the clear', async () => {
    const { state } = await started();
    const { code } = await open(state, 998877665544);
    const stored = JSON.stringify(await storedOf(state));
    expect(stored).toContain('LoginCodeIssued');
    for (const secret of [state, code, '998877665544']) expect(stored).not.toContain(secret);
  });

  it('puts the way back into the text where the messenger takes no such button', async () => {
    const { state } = await started(undefined, '?redirectUri=http%3A%2F%2Flocalhost%3A5173%2Fcallback');
    await tell(update(state, 4711));
    expect(bot.sent.at(-1)).toMatchObject({
      text: expect.stringContaining(`http://localhost:5173/callback?state=${state}&code=`) as unknown,
      button: undefined,
    });
  });

  it('gives the same code again to who is told again, and none to a second person', async () => {
    const { state } = await started();
    const { code } = await open(state, 1);
    expect((await open(state, 1)).code).toBe(code);
    expect((await tell(update(state, 2))).status).toBe(200);
    expect(bot.sent.map(({ messengerId }) => messengerId)).toEqual(['1', '1', '2']);
    expect(bot.sent.at(-1)?.text).toMatch(/begin to sign in again/);
    expect((await storedOf(state)).map(({ type }) => type)).toEqual(['LoginStarted', 'LoginCodeIssued']);
  });

  it.each<[string, (state: string) => object]>([
    ['in a group', (state) => update(state, 1, { chat: { id: -1, type: 'group' } })],
    ['by another bot', (state) => update(state, 1, { from: { id: 1, is_bot: true } })],
    ['by nobody', (state) => update(state, 1, { from: undefined })],
    ['with other words', (state) => update(state, 1, { text: `please /start ${state}` })],
    ['as something else than a message', (state) => ({ callback_query: update(state, 1) })],
    ['in another form', () => ({ message: [1, { text: null }] })],
  ])('answers 200 and stores nothing when it is told so %s', async (_, body) => {
    const { state } = await started();
    const head = await account.foundation.eventStore.head();
    const answer = await tell(body(state));
    expect([answer.status, await answer.json()]).toEqual([200, {}]);
    expect(bot.sent).toEqual([]);
    expect(await account.foundation.eventStore.head()).toBe(head);
  });

  it.each<[string, (state: string) => string]>([
    ['more words', (state) => `/start ${state} now`],
    ['a state that nobody began', () => '/start unknown'],
    ['a state that is longer than any', () => `/start ${'s'.repeat(65)}`],
    ['no state', () => '/start'],
    ['no state, in the name of the bot', () => '/start@annals_bot '],
  ])('tells a person to begin again who starts the bot with %s, and stores nothing', async (_, textOf) => {
    const { state } = await started();
    const head = await account.foundation.eventStore.head();
    expect((await tell(update(state, 1, { text: textOf(state) }))).status).toBe(200);
    const text = expect.stringMatching(/begin to sign in again/) as unknown;
    expect(bot.sent).toEqual([{ messengerId: '1', text, button: undefined }]);
    expect(await account.foundation.eventStore.head()).toBe(head);
  });

  it('answers 200 and logs it where the messenger refuses the reply', async () => {
    for (const [at, status] of [400, 401, 403, 404].entries()) {
      const id = 900 + at;
      bot.behaviour.refused.set(String(id), status);
      const { state } = await started();
      const before = account.foundation.logged.length;
      expect((await tell(update(state, id))).status).toBe(200);
      expect(JSON.stringify(account.foundation.logged.slice(before))).toContain('a reply of the bot was not sent');
    }
  });

  it.each<[string, Record<string, string>]>([
    ['no secret', {}],
    ['a wrong secret', { [SECRET]: 'guess' }],
    ['an empty secret', { [SECRET]: '' }],
    ['a longer secret', { [SECRET]: 'a-secret-of-the-webhook-' }],
  ])('hears nobody with %s', async (_, secret) => {
    const { state } = await started();
    expect(await codeOf(await tell(update(state, 1), secret))).toBe('forbidden');
    expect(await storedOf(state)).toHaveLength(1);
  });

  it('hears nobody where no secret is set', async () => {
    await using other = await startAccountUnderTest(folder);
    const answer = await other.ask('/auth/messenger/webhook', { method: 'POST', headers: { [SECRET]: '' }, body: {} });
    expect(await codeOf(answer)).toBe('forbidden');
  });

  it('is told again when the messenger takes no messages, and not when the person blocked the bot', async () => {
    const { state } = await started();
    bot.behaviour.retryAfter = 3;
    expect(await codeOf(await tell(update(state, 5)))).toBe('rate_limited');
    bot.behaviour.retryAfter = undefined;
    expect((await sessionOf(await callback(await open(state, 5)))).userId).toMatch(/^usr_/);
    const blocked = await started();
    bot.behaviour.blocked.add('6');
    expect((await tell(update(blocked.state, 6))).status).toBe(200);
  });

  it('is completed by a thousand requests once', async () => {
    const { state } = await started();
    const back = await open(state, 7);
    await expectOneLoginOfAThousand(account, () => callback(back), 'state_unknown');
  });

  it('is completed by the same code after a crash before any of its appends', async () => {
    for (const [at, failing] of ['identity-', 'user-', 'session-'].entries()) {
      const { state } = await started();
      const back = await open(state, 100 + at);
      const crashed = await withoutAppendsTo(failing, account.foundation, () => callback(back));
      expect(await codeOf(crashed)).toBe('internal_error');
      expect((await callback(back)).status).toBe(201);
      expect(await codeOf(await callback(back))).toBe('state_unknown');
    }
  });

  it('links for the session that started it, and for nobody else', async () => {
    const [mine, theirs] = [await account.logIn(account.newWallet()), await account.logIn(account.newWallet())];
    const sibling = await account.register({ redirectUris: [REDIRECT_URI] });
    const linking = await open((await started(mine)).state, 200);
    const plain = await open((await started()).state, 201);
    const refused = await Promise.all([
      callback(linking, theirs), // a signed-in person is made to open the way back of somebody else's
      callback(linking),
      callback(plain, theirs),
      callback(plain, undefined, sibling),
      callback({ ...plain, code: linking.code }),
    ]);
    expect(await Promise.all(refused.map(codeOf))).toEqual(Array(5).fill('state_unknown'));
    expect((await sessionOf(await callback(linking, mine))).userId).toBe(mine.userId);
    expect((await sessionOf(await callback(plain))).userId).not.toBe(theirs.userId);
    const taken = await open((await started(theirs)).state, 200);
    expect(await codeOf(await callback(taken, theirs))).toBe('identity_taken');
    account.clock.time += 301_000;
    expect(await codeOf(await account.ask('/auth/messenger', { headers: headers(mine) }))).toBe('login_too_old');
  });

  it('links nothing where its app is distrusted meanwhile, and uses up nothing', async () => {
    const mine = await account.logIn(account.newWallet());
    const linking = await open((await started(mine)).state, 210);
    await account.apps.change(account.app.id, { trust: false });
    account.clock.time += 1_999;
    expect(await codeOf(await callback(linking, mine))).toBe('forbidden');
    await account.apps.change(account.app.id, { trust: true });
    account.clock.time += 1_999;
    expect((await sessionOf(await callback(linking, mine))).userId).toBe(mine.userId);
  });

  it('is over after ten minutes', async () => {
    const { state } = await started();
    const back = await open(state, 300);
    account.clock.time += 600_000;
    expect(await codeOf(await callback(back))).toBe('state_unknown');
    bot.sent.splice(0);
    expect((await tell(update(state, 300))).status).toBe(200);
    expect(bot.sent.map(({ text }) => text)).toEqual([expect.stringMatching(/begin to sign in again/)]);
  });
});
