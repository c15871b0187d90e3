import { identityStream } from '../../../schemas/events/account/identity-events.ts';
import { userStream } from '../../../schemas/events/account/user-events.ts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { requestedPassword } from '../../../schemas/http/account/one-time-password-routes.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { codeOf } from '../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { withoutAppendsTo } from '../../../shared/testing/without-appends-to.ts';
import { oneTimePasswordStream } from './domain/one-time-password.ts';
import { PasswordHashes } from './password-hashes.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../testing/account-under-test.ethers.ts';
import { emailCalls, mailTo, newestPassword, someone, wrong } from '../testing/one-time-passwords.ts';
import { bearer, sessionOf } from '../testing/sessions.ts';

const folder = temporaryFolder();
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let account: AccountUnderTest;
let calls: ReturnType<typeof emailCalls>;
beforeAll(async () => {
  account = await startAccountUnderTest(folder);
  calls = emailCalls(account);
});
afterAll(() => account.service.close());

describe('a one-time password', () => {
  it('can be used once', async () => {
    const email = someone();
    const password = await calls.requested(email);
    await sessionOf(await calls.verify(email, password));
    expect(await codeOf(await calls.verify(email, password))).toBe('otp_invalid');
  });

  it('can be used for five minutes', async () => {
    const [first, second] = [someone(), someone()];
    const [early, late] = [await calls.requested(first), await calls.requested(second)];
    account.clock.time += 5 * MINUTE - 1;
    await sessionOf(await calls.verify(first, early));
    account.clock.time += 1;
    expect(await codeOf(await calls.verify(second, late))).toBe('otp_invalid');
  });

  it('is evaluated five times and no more, even if the sixth guess is right', async () => {
    const email = someone();
    const password = await calls.requested(email);
    for (let guess = 1; guess <= 5; guess += 1) {
      expect(await codeOf(await calls.verify(email, wrong(password, guess)))).toBe('otp_invalid');
    }
    expect(await codeOf(await calls.verify(email, password))).toBe('otp_invalid');
    await sessionOf(await calls.verify(email, await calls.requested(email)));
  });

  it('is evaluated five times at most however many guesses arrive in parallel', async () => {
    const email = someone();
    const password = await calls.requested(email);
    const guesses = Array.from({ length: 200 }, (_, at) => calls.verify(email, wrong(password, at + 1)));
    for (const answer of await Promise.all(guesses)) expect(await codeOf(answer)).toBe('otp_invalid');
    expect(await account.typesOf(oneTimePasswordStream(calls.identityIdOf(email)))).toEqual([
      'OtpIssued',
      ...Array<string>(5).fill('OtpGuessed'),
    ]);
    expect(await codeOf(await calls.verify(email, password))).toBe('otp_invalid');
  });

  it('is evaluated five times more, of parallel guesses too, for who sends the token of the request', async () => {
    const email = someone();
    const { token } = requestedPassword.parse(await (await calls.request(email)).json());
    const password = await newestPassword(account.service.url, email);
    const withToken = (otp: string, given = token) => calls.verify(email, otp, {}, given);
    const strangers = Array.from({ length: 20 }, (_, at) => calls.verify(email, wrong(password, at + 1)));
    for (const answer of await Promise.all(strangers)) expect(await codeOf(answer)).toBe('otp_invalid');
    expect(await codeOf(await calls.verify(email, password))).toBe('otp_invalid');
    expect(await codeOf(await withToken(password, 'x'.repeat(26)))).toBe('otp_invalid');
    const guesses = Array.from({ length: 4 }, (_, at) => withToken(wrong(password, at + 30)));
    for (const answer of await Promise.all(guesses)) expect(await codeOf(answer)).toBe('otp_invalid');
    await sessionOf(await withToken(password));
    const types = await account.typesOf(oneTimePasswordStream(calls.identityIdOf(email)));
    expect(types.filter((type) => type === 'OtpGuessed')).toHaveLength(10);
    expect(await codeOf(await withToken(password))).toBe('otp_invalid');
  });

  it('is taken with digits of any script, spaces and hyphens', async () => {
    const email = someone();
    const of = (password: string, zero: number) =>
      Array.from(password, (digit) => String.fromCodePoint(zero + Number(digit))).join('');
    const forms: ((password: string) => string)[] = [
      (password) => ` ${password.slice(0, 3)} ${password.slice(3)} `,
      (password) => `${password.slice(0, 3)}-${password.slice(3)}`,
      (password) => of(password, 0xff10),
      (password) => of(password, 0x0660),
      (password) => of(password, 0x1d7e2),
    ];
    for (const form of forms) await sessionOf(await calls.verify(email, form(await calls.requested(email))));
    for (const otp of ['12345', '1234567', '12345x', '12345\u00b2', '']) {
      expect(await codeOf(await calls.verify(email, otp))).toBe('validation_failed');
    }
  });

  it('costs a guess the work of a hash where one is open, and nothing else', async () => {
    const hashes = account.service.app.get(PasswordHashes);
    let hashed = 0;
    for (const name of ['hash', 'verify'] as const) {
      const derive = hashes[name].bind(hashes) as (...all: string[]) => Promise<never>;
      hashes[name] = (...all: string[]) => {
        hashed += 1;
        return derive(...all);
      };
    }
    const [open, over] = [someone(), someone()];
    const otp = wrong(await calls.requested(open));
    await calls.requested(over);
    account.clock.time += 5 * MINUTE;
    const again = wrong(await calls.requested(open));
    for (const [email, costs] of [
      [open, 5],
      [open, 0],
      [over, 0],
      [someone(), 0],
    ] as const) {
      hashed = 0;
      const guesses = Array.from({ length: 5 }, () => calls.verify(email, email === open ? again : otp));
      for (const answer of await Promise.all(guesses)) expect(await codeOf(answer)).toBe('otp_invalid');
      expect(hashed).toBe(costs);
    }
  });

  it('is closed by the next one of the same app', async () => {
    const email = someone();
    const first = await calls.requested(email);
    const second = await calls.requested(email);
    if (first !== second) expect(await codeOf(await calls.verify(email, first))).toBe('otp_invalid');
    await sessionOf(await calls.verify(email, second));
  });

  it('fits the app that it was sent for, and is not closed by a request of another', async () => {
    const email = someone();
    const password = await calls.requested(email);
    const sibling = account.appHeaders({}, await account.register({ name: 'Sibling' }));
    expect(await codeOf(await calls.verify(email, password, sibling))).toBe('otp_invalid');
    const theirs = await calls.requested(email, sibling);
    await sessionOf(await calls.verify(email, password));
    await sessionOf(await calls.verify(email, theirs, sibling));
  });

  it('fits one identity', async () => {
    const [mine, theirs] = [someone(), someone()];
    const password = await calls.requested(mine);
    await calls.requested(theirs);
    const newest = await newestPassword(account.service.url, theirs);
    if (password !== newest) expect(await codeOf(await calls.verify(theirs, password))).toBe('otp_invalid');
  });

  it('is redeemed by one of many parallel logins', async () => {
    const email = someone();
    const password = await calls.requested(email);
    const answers = await Promise.all(Array.from({ length: 20 }, () => calls.verify(email, password)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 401)).toHaveLength(19);
  });

  it('completes a login that a crash interrupted, and that one only', async () => {
    const email = someone();
    const password = await calls.requested(email);
    const verify = () => calls.verify(email, password);
    for (const interrupted of ['identity-', 'user-', 'session-']) {
      expect(await codeOf(await withoutAppendsTo(interrupted, account.foundation, verify))).toBe('internal_error');
    }
    const { userId } = await sessionOf(await verify());
    expect(await codeOf(await verify())).toBe('otp_invalid');
    const types = await account.typesOf(oneTimePasswordStream(calls.identityIdOf(email)));
    expect(types.filter((type) => type === 'OtpVerified')).toHaveLength(1);
    expect(await account.typesOf(userStream(userId))).toEqual(['UserRegistered', 'IdentityLinked', 'UserLoggedIn']);
    expect(await account.typesOf(identityStream(calls.identityIdOf(email)))).toEqual(['IdentityClaimed']);
  });

  it('counts a guess although a crash kept it from being evaluated', async () => {
    const email = someone();
    const password = await calls.requested(email);
    const { eventStore } = account.foundation;
    const append = eventStore.append.bind(eventStore);
    // Stored, and nothing came of it.
    eventStore.append = async (...all) => {
      await append(...all);
      throw new Error('planned crash');
    };
    for (let guess = 1; guess <= 5; guess += 1) {
      expect(await codeOf(await calls.verify(email, password))).toBe('internal_error');
    }
    eventStore.append = append;
    expect(await codeOf(await calls.verify(email, password))).toBe('otp_invalid');
  });
});

describe('requests for one-time passwords', () => {
  let limited: AccountUnderTest;
  let of: ReturnType<typeof emailCalls>;
  beforeAll(async () => {
    const RATE_LIMITS = '{"address":{"points":100000,"seconds":1},"otpRequestIp":{"points":40,"seconds":3600}}';
    limited = await startAccountUnderTest(folder, { RATE_LIMITS });
    of = emailCalls(limited);
  });
  afterAll(() => limited.service.close());

  it('are one a minute and ten a day for an identity at an app, and the answers say so', async () => {
    const email = someone();
    const first = await of.request(email);
    expect(await first.json()).toMatchObject({ sent: true, resendAfter: 60 });
    expect(first.headers.get('RateLimit-Policy')).toBe('"otpRequest";q=1;w=60');
    expect(first.headers.get('RateLimit')).toBe('"otpRequest";r=0;t=60');
    limited.clock.time += MINUTE - 1;
    const second = await of.request(email.toUpperCase());
    expect(second.headers.get('Retry-After')).toBe('1');
    expect(second.headers.get('RateLimit')).toBe('"otpRequest";r=0;t=1');
    expect(await codeOf(second)).toBe('rate_limited');
    for (let sent = 2; sent <= 10; sent += 1) {
      limited.clock.time += MINUTE;
      const answer = await of.request(email);
      expect(answer.status).toBe(201);
      // After the tenth the next one waits until the first is a day old.
      const resendAfter = sent < 10 ? 60 : (DAY - 10 * MINUTE) / 1_000 + 1;
      expect(await answer.json()).toMatchObject({ resendAfter });
    }
    limited.clock.time += MINUTE;
    const eleventh = await of.request(email);
    expect(eleventh.headers.get('RateLimit-Policy')).toBe('"otpRequestDay";q=10;w=86400');
    expect(await codeOf(eleventh)).toBe('rate_limited');
    const sibling = limited.appHeaders({}, await limited.register({ name: 'Sibling' }));
    const theirs = await of.request(email, sibling);
    expect(await theirs.json()).toMatchObject({ sent: true, resendAfter: 60 });
    expect(theirs.headers.get('RateLimit')).toBe('"otpRequest";r=0;t=60');
    limited.clock.time += DAY - 10 * MINUTE;
    expect((await of.request(email)).status).toBe(201);
  });

  it('are limited for an address of the network too', async () => {
    let refused: Response | undefined;
    for (let sent = 0; sent < 60 && !refused; sent += 1) {
      const answer = await of.request(someone());
      if (answer.status !== 201) refused = answer;
    }
    expect(refused?.headers.get('RateLimit-Policy')).toBe('"otpRequestIp";q=40;w=3600');
  });

  it('beyond those of all apps reach only who logged in at that app, and are answered the same', async () => {
    const RATE_LIMITS = '{"address":{"points":100000,"seconds":1},"otpRequestAll":{"points":2,"seconds":86400}}';
    await using account = await startAccountUnderTest(folder, { RATE_LIMITS });
    const { request, requested, verify } = emailCalls(account);
    const [known, stranger] = [someone(), someone()];
    await sessionOf(await verify(known, await requested(known)));
    account.clock.time += DAY;
    const [first, second] = [await account.register({ name: 'First' }), await account.register({ name: 'Second' })];
    for (const app of [first, second]) {
      for (const email of [known, stranger]) {
        expect((await request(email, account.appHeaders({}, app))).status).toBe(201);
      }
    }
    const before = {
      known: await mailTo(account.service.url, known),
      stranger: await mailTo(account.service.url, stranger),
    };
    const answers = [await request(known), await request(stranger)];
    const shown = answers.map(async (answer) => ({
      status: answer.status,
      limit: answer.headers.get('RateLimit'),
      body: { ...requestedPassword.parse(await answer.json()), token: '' },
    }));
    const [toKnown, toStranger] = await Promise.all(shown);
    expect(toStranger).toEqual(toKnown);
    expect(toKnown).toMatchObject({ status: 201, body: { sent: true, resendAfter: 60 } });
    const isSent = async () => (await mailTo(account.service.url, known)).length > before.known.length;
    await eventually(isSent, 3_000, 'the message to who logged in there must be sent');
    expect(await mailTo(account.service.url, stranger)).toEqual(before.stranger);
    await sessionOf(await verify(known, await newestPassword(account.service.url, known)));
  });

  it('with the same Idempotency-Key send one password', async () => {
    const email = someone();
    const key = { 'idempotency-key': 'the-same' };
    const answers = [await calls.request(email, key), await calls.request(email, key)];
    const [first, second] = await Promise.all(answers.map((answer) => answer.json()));
    expect(second).toEqual(first);
    expect(await mailTo(account.service.url, email)).toHaveLength(1);
  });
});

describe('a hundred wrong guesses in a row', () => {
  it('lock the one-time passwords of the identity at that app for a day, and nothing else', async () => {
    const email = someone();
    const wallet = account.newWallet();
    const session = await account.logIn(wallet);
    await sessionOf(await calls.verify(email, await calls.requested(email), bearer(session)));
    await calls.requested(email);
    const stream = oneTimePasswordStream(calls.identityIdOf(email));
    const events = await calls.eventsOf(stream);
    const otpId = events.at(-1)?.data['otpId'] ?? '';
    const earlier = Array.from({ length: 99 }, () => anEvent({ type: 'OtpGuessed', data: { otpId } }));
    await account.foundation.eventStore.append(stream, events.length - 1, earlier);
    const password = await calls.requested(email);
    expect(await codeOf(await calls.verify(email, wrong(password)))).toBe('otp_invalid');
    for (const answer of [await calls.request(email), await calls.verify(email, '123456')]) {
      expect(answer.headers.get('Retry-After')).toBe('86400');
      expect(await codeOf(answer)).toBe('otp_locked');
    }
    const sibling = account.appHeaders({}, await account.register({ name: 'Sibling' }));
    const there = await sessionOf(await calls.verify(email, await calls.requested(email, sibling), sibling));
    expect(there.userId).toBe(session.userId);
    expect(await codeOf(await calls.request(email))).toBe('otp_locked');
    expect((await account.logIn(wallet)).userId).toBe(session.userId);
    account.clock.time += DAY;
    expect((await sessionOf(await calls.verify(email, await calls.requested(email)))).userId).toBe(session.userId);
  });
});
