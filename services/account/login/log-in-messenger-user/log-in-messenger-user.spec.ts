import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Wallet } from 'ethers';
import { decodeJwt } from 'jose';
import { appStream } from '../../../../schemas/events/account/app-events.ts';
import { userStream } from '../../../../schemas/events/account/user-events.ts';
import { someMetadata } from '../../../../shared/testing/event-builder.ts';
import { codeOf } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { withoutAppendsTo } from '../../../../shared/testing/without-appends-to.ts';
import { allowBot, revokeApp } from '../../apps/domain/app.ts';
import { appFold } from '../../../../shared/auth/app.ts';
import { userFold } from '../../users/domain/user.ts';
import type { RegisteredApp } from '../../apps/register-app/register-app.handler.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { sessionOf } from '../../testing/sessions.ts';

const folder = temporaryFolder();

describe('logging in a user of the messenger on the word of an app', () => {
  let account: AccountUnderTest;
  let app: RegisteredApp;
  const change = (id: string, decide: typeof allowBot) =>
    account.transactor.transact({ stream: appStream(id), fold: appFold, metadata: someMetadata, decide });
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
    app = await account.register();
    await change(app.id, allowBot);
  });
  afterAll(() => account.service.close());

  let last = 0;
  const signed = (changes: object = {}, { apiKey, signingKey } = app) => {
    last += 1;
    const timestamp = account.clock.now() - last;
    const user = {
      messengerId: '4711',
      username: 'ada',
      firstname: 'Ada',
      lastname: 'L',
      domainId: 7,
      timestamp,
      apiKey,
    };
    const body = { ...user, ...changes };
    const { messengerId, username, firstname, lastname, domainId } = body;
    const text = `messenger-user\n${messengerId}\n${username}\n${firstname}\n${lastname}\n${String(domainId)}\n${String(body.timestamp)}\n${body.apiKey}`;
    return { ...body, sig: new Wallet(signingKey).signMessageSync(text) };
  };
  const post = (body: object) => account.ask('/auth/messenger/user', { method: 'POST', body });

  it('makes a user, who is the same the next time, and keeps the domain with each login', async () => {
    const first = await sessionOf(await post(signed()));
    expect(decodeJwt(first.accessToken)).toMatchObject({ amr: ['messenger'], app: app.id });
    expect((await sessionOf(await post(signed({ domainId: 8 })))).userId).toBe(first.userId);
    const { state: user } = await account.transactor.load(userStream(first.userId), userFold);
    expect(user.entity).toMatchObject({ username: 'ada', firstname: 'Ada', lastname: 'L' });
    const events = await account.foundation.eventStore.read(`user-${first.userId}`);
    const logins = events.filter(({ type }) => type === 'UserLoggedIn');
    expect(logins.map(({ data }) => data['domainId'])).toEqual([7, 8]);
    expect((await sessionOf(await post(signed({ messengerId: '4712' })))).userId).not.toBe(first.userId);
  });

  it('makes names fit that no profile may have', async () => {
    const said = { messengerId: '4713', username: 'a'.repeat(64), firstname: '\u200eAda\u2060', lastname: '\u3164' };
    const { userId } = await sessionOf(await post(signed(said)));
    const { state: user } = await account.transactor.load(userStream(userId), userFold);
    expect(user.entity).toMatchObject({ username: 'a'.repeat(50), firstname: 'Ada', lastname: null });
  });

  it('accepts a signature once, in whatever form it is written, of twenty at once too', async () => {
    const body = signed();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(body)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const recoveryByte = body.sig.endsWith('1b') ? '00' : '01';
    for (const sig of [body.sig, `0x${body.sig.slice(2).toUpperCase()}`, body.sig.slice(0, -2) + recoveryByte]) {
      expect(await codeOf(await post({ ...body, sig }))).toBe('request_replayed');
    }
  });

  it('is completed by the same request after a crash', async () => {
    const body = signed({ messengerId: '99' });
    expect(await codeOf(await withoutAppendsTo('user-', account.foundation, () => post(body)))).toBe('internal_error');
    expect((await post(body)).status).toBe(201);
    expect(await codeOf(await post(body))).toBe('request_replayed');
  });

  it('is for apps that the operator allowed', async () => {
    const other = await account.register();
    expect(await codeOf(await post(signed({ apiKey: other.apiKey }, other)))).toBe('forbidden');
    expect(await codeOf(await post(signed({ apiKey: app.apiKey }, other)))).toBe('bot_signature_invalid');
    expect(await codeOf(await post(signed({ apiKey: 'ak_unknown' })))).toBe('api_key_unknown');
    await change(other.id, allowBot);
    expect((await post(signed({ apiKey: other.apiKey }, other))).status).toBe(201);
    await change(other.id, revokeApp);
    expect(await codeOf(await post(signed({ apiKey: other.apiKey }, other)))).toBe('app_revoked');
  });

  it.each([
    ['messengerId', '4713'],
    ['username', 'eve'],
    ['firstname', 'Eve'],
    ['lastname', ''],
    ['domainId', 9],
  ])('is refused when %s is not what was signed', async (member, value) => {
    expect(await codeOf(await post({ ...signed(), [member]: value }))).toBe('bot_signature_invalid');
  });

  it('is refused when the timestamp is not what was signed', async () => {
    const body = signed();
    expect(await codeOf(await post({ ...body, timestamp: body.timestamp - 1 }))).toBe('bot_signature_invalid');
  });

  it.each<[string, object, string]>([
    ['an old timestamp', { timestamp: 1 }, 'timestamp_out_of_window'],
    ['a line break, which could move words from one member to the next', { username: 'a\nb' }, 'validation_failed'],
    ['an id that nobody has', { messengerId: '' }, 'validation_failed'],
  ])('is refused with %s', async (_, changes, code) => {
    expect(await codeOf(await post(signed(changes)))).toBe(code);
  });

  it('is refused with a signature that is none', async () => {
    expect(await codeOf(await post({ ...signed(), sig: '0x12' }))).toBe('signature_malformed');
  });
});
