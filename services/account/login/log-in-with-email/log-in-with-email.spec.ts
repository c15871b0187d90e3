import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { requestedPassword } from '../../../../schemas/http/account/one-time-password-routes.ts';
import { codeOf, problemOfAnswer as problemIn } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { oneTimePasswordStream } from '../domain/one-time-password.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { emailCalls, mailTo, newestPassword, someone, wrong } from '../../testing/one-time-passwords.ts';
import { bearer, sessionOf } from '../../testing/sessions.ts';

const folder = temporaryFolder();
const MINUTE = 60_000;

let account: AccountUnderTest;
let calls: ReturnType<typeof emailCalls>;
beforeAll(async () => {
  account = await startAccountUnderTest(folder);
  calls = emailCalls(account);
});
afterAll(() => account.service.close());

describe('logging in with a one-time password by email', () => {
  it('makes a user, and finds that user again', async () => {
    const email = someone();
    const answer = await calls.request(email);
    expect(answer.status).toBe(201);
    expect(answer.headers.get('x-position')).not.toBeNull();
    const body = requestedPassword.strict().parse(await answer.json());
    expect(Date.parse(body.expiresAt) - account.clock.now()).toBe(5 * MINUTE);
    const first = await sessionOf(await calls.verify(email, await newestPassword(account.service.url, email)));
    expect(first.userId).toMatch(/^usr_/);
    expect(decodeJwt(first.accessToken)).toMatchObject({ sub: first.userId, amr: ['email'] });
    const again = await sessionOf(await calls.verify(email, await calls.requested(email)));
    expect(again.userId).toBe(first.userId);
  });

  it('sends a message as text and HTML that names the site', async () => {
    const email = someone();
    const password = await calls.requested(email);
    expect((await mailTo(account.service.url, email))[0]).toMatchObject({
      channel: 'email',
      subject: `${password} is your code for app.example`,
      text: expect.stringContaining(`${password} is your code for app.example.`) as unknown,
      html: expect.stringContaining(`<b>${password}</b>`) as unknown,
    });
  });

  it('knows an address in any letter case and with spaces around it, and writes to it as it was first given', async () => {
    const name = `Ada.${someone().split('@')[0] ?? ''}`;
    const [given, other] = [`${name}@Mail.Example`, `${name.toUpperCase()}@mail.example`];
    await calls.request(` ${given} `);
    const first = await sessionOf(
      await calls.verify(other.toLowerCase(), await newestPassword(account.service.url, given)),
    );
    await calls.request(other);
    expect(await mailTo(account.service.url, other)).toEqual([]);
    const again = await sessionOf(await calls.verify(other, await newestPassword(account.service.url, given)));
    expect(again.userId).toBe(first.userId);
    expect((await calls.userOf(first))?.identities).toMatchObject([{ method: 'email', label: given }]);
  });

  it('knows an address whose host is written in another script, in ASCII', async () => {
    const user = someone().split('@')[0] ?? '';
    const ascii = `${user}@xn--bcher-kva.example`;
    expect((await calls.request(`${user}@Bücher.example`)).status).toBe(201);
    const password = await newestPassword(account.service.url, ascii);
    const { userId } = await sessionOf(await calls.verify(`${user}@bücher。example`, password));
    expect((await sessionOf(await calls.verify(ascii, await calls.requested(ascii)))).userId).toBe(userId);
    for (const wrong of [
      'ä@bücher.example',
      'a@bücher.example/x',
      'a@bü cher.example',
      'a@bücher',
      'a@\u00ad.example',
    ]) {
      expect((await problemIn(await calls.request(wrong))).code).toBe('validation_failed');
    }
  });

  it('is decided by the case of the address that was verified, not of one that somebody asked with', async () => {
    const email = someone();
    await calls.request(email.toUpperCase());
    const otp = await calls.requested(email);
    await sessionOf(await calls.verify(email, otp));
    await calls.request(email.toUpperCase());
    expect(await mailTo(account.service.url, email)).toHaveLength(2);
  });

  it('keeps neither address nor password in the streams that belong to no user', async () => {
    const email = someone();
    const password = await calls.requested(email);
    await calls.verify(email, wrong(password));
    await sessionOf(await calls.verify(email, password));
    const events = await calls.eventsOf(oneTimePasswordStream(calls.identityIdOf(email)));
    expect(events.map(({ type }) => type)).toEqual(['OtpIssued', 'OtpGuessed', 'OtpGuessed', 'OtpVerified']);
    const text = events.map(({ stream, dataText, metadata }) => stream + dataText + JSON.stringify(metadata)).join();
    expect(text).not.toContain(password);
    expect(text).not.toMatch(/person|mail\.example/);
    expect(JSON.stringify(account.foundation.logged)).not.toMatch(/person\d|mail\.example/);
  });

  it.each([
    'ada',
    'ada@localhost',
    'ada@mail.example,eve@mail.example',
    'ada@mail.example eve@mail.example',
    'Ada <ada@mail.example>',
    '"ada"@mail.example',
    'ada@mail.example\r\nBcc: eve@mail.example',
    'ada\n@mail.example',
    'ada@mail.example\u0000',
    'ada@[127.0.0.1]',
    'ada@mail..example',
    'ädä@mail.example',
    'ada@mail.example>',
    `${'a'.repeat(65)}@mail.example`,
    `ada@${'a.'.repeat(130)}example`,
    '',
  ])('refuses %j, which is not one address', async (email) => {
    for (const answer of [await calls.request(email), await calls.verify(email, '123456')]) {
      expect(await problemIn(answer)).toMatchObject({ code: 'validation_failed', errors: [{ path: 'email' }] });
    }
  });

  it('answers the same to a known and an unknown address', async () => {
    const known = someone();
    await sessionOf(await calls.verify(known, await calls.requested(known)));
    const answers = [await calls.request(known), await calls.request(someone())];
    const [first, second] = await Promise.all(
      answers.map(async (answer) => ({
        status: answer.status,
        body: { ...requestedPassword.parse(await answer.json()), token: '' },
        headers: [...answer.headers.keys()].toSorted(),
      })),
    );
    expect(second).toEqual(first);
    const password = await newestPassword(account.service.url, known);
    const refusals = [await calls.verify(known, wrong(password)), await calls.verify(someone(), wrong(password))];
    const [one, other] = await Promise.all(
      refusals.map(async (answer) => ({
        headers: [...answer.headers.keys()].toSorted(),
        problem: { ...(await problemIn(answer)), instance: '' },
      })),
    );
    expect(one?.problem.code).toBe('otp_invalid');
    expect(other).toEqual(one);
  });
});

describe('linking an address', () => {
  it('gives the user another way to log in', async () => {
    const email = someone();
    const wallet = await account.logIn(account.newWallet());
    const linked = await sessionOf(await calls.verify(email, await calls.requested(email), bearer(wallet)));
    expect(linked.userId).toBe(wallet.userId);
    expect((await sessionOf(await calls.verify(email, await calls.requested(email)))).userId).toBe(wallet.userId);
  });

  it('of somebody else is refused, and one that a login began without a token is not completed by one with it', async () => {
    const [email, mine] = [someone(), someone()];
    await sessionOf(await calls.verify(email, await calls.requested(email)));
    const session = await sessionOf(await calls.verify(mine, await calls.requested(mine)));
    expect(await codeOf(await calls.verify(email, await calls.requested(email), bearer(session)))).toBe(
      'identity_taken',
    );
  });

  it('needs a login of the last five minutes, and the refusal uses up no guess', async () => {
    const email = someone();
    const wallet = account.newWallet();
    const session = await account.logIn(wallet);
    account.clock.time += 5 * MINUTE + 1;
    const password = await calls.requested(email);
    for (let tries = 0; tries < 6; tries += 1) {
      expect(await codeOf(await calls.verify(email, password, bearer(session)))).toBe('login_too_old');
    }
    const fresh = await account.logIn(wallet);
    expect((await sessionOf(await calls.verify(email, password, bearer(fresh)))).userId).toBe(session.userId);
  });
});
