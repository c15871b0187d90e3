import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { accountStatus } from '../../../../schemas/http/account/account-routes.ts';
import { problemOfAnswer } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { MailServerUnderTest } from '../../testing/mail-server.smtp.ts';
import { emailCalls, someone } from '../../testing/one-time-passwords.ts';
import { sessionOf } from '../../testing/sessions.ts';

const folder = temporaryFolder();
const key = Buffer.from(Array.from({ length: 32 }, (_, index) => (index * 37) % 256)).toString('base64');
const CHAINS = '[{"chainId":1,"rpcUrls":["http://127.0.0.1:1"]}]';

describe('email by a mail server', () => {
  let server: MailServerUnderTest;
  let account: AccountUnderTest;
  let calls: ReturnType<typeof emailCalls>;
  beforeAll(async () => {
    server = await new MailServerUnderTest().start();
    const MAIL_FROM = 'Annals <no-reply@annals.example>';
    account = await startAccountUnderTest(folder, { SMTP_URL: server.url, MAIL_FROM });
    calls = emailCalls(account);
  });
  afterAll(async () => {
    await account.service.close();
    await server.stop();
  });

  it('carries the password of a login', async () => {
    const email = someone();
    expect((await calls.request(email)).status).toBe(201);
    const mail = server.received.at(-1);
    expect(mail).toMatchObject({ from: 'no-reply@annals.example', to: [email] });
    const otp = /^Subject: (\d{6}) is your code for app\.example\r?$/m.exec(mail?.source ?? '')?.[1] ?? '';
    await sessionOf(await calls.verify(email, otp));
  });

  it('is said to be sent although the server refuses the recipient, whom it would tell apart else', async () => {
    server.recipientAnswer = 550;
    const email = someone();
    const answer = await calls.request(email);
    expect(answer.status).toBe(201);
    expect(await answer.json()).toMatchObject({ sent: true });
    server.recipientAnswer = undefined;
    expect(JSON.stringify(account.foundation.logged)).toContain('EENVELOPE RCPT TO 550');
    expect(JSON.stringify(account.foundation.logged)).not.toContain(email);
  });

  it('is refused in time, with when to ask again, when the server takes nothing, hangs or is gone', async () => {
    const MAIL_FROM = 'no-reply@annals.example';
    await using impatient = await startAccountUnderTest(
      folder,
      { SMTP_URL: server.url, MAIL_FROM },
      { messageWithinMs: 100 },
    );
    const refusal = async ({ request } = calls) => problemOfAnswer(await request(someone()));
    const expected = { status: 503, code: 'dependency_unavailable' };
    server.senderAnswer = 421;
    expect(await refusal()).toMatchObject(expected);
    server.senderAnswer = undefined;
    server.hangs = true;
    expect(await refusal(emailCalls(impatient))).toMatchObject(expected);
    server.hangs = false;
    await server.stop();
    expect(await refusal()).toMatchObject(expected);
    for (const { foundation } of [account, impatient]) {
      expect(JSON.stringify(foundation.logged)).not.toMatch(/person\d/);
    }
    server = await new MailServerUnderTest().start();
  });

  it('does not count as a request where no server took it', async () => {
    const RATE_LIMITS = '{"otpRequestDay":{"points":1,"seconds":86400}}';
    const MAIL_FROM = 'no-reply@annals.example';
    await using limited = await startAccountUnderTest(folder, { SMTP_URL: server.url, MAIL_FROM, RATE_LIMITS });
    const { request } = emailCalls(limited);
    const email = someone();
    server.senderAnswer = 550;
    for (const _ of [1, 2]) expect((await request(email)).status).toBe(503);
    server.senderAnswer = undefined;
    expect((await request(email)).status).toBe(201);
    expect((await problemOfAnswer(await request(email))).code).toBe('rate_limited');
  });

  it('is not offered in production where none is set up, and neither is the messenger', async () => {
    const production = {
      NODE_ENV: 'production',
      RATE_LIMITS: '',
      MASTER_KEY: key,
      CHAINS,
      TRUSTED_PROXIES: '127.0.0.1',
    };
    await using other = await startAccountUnderTest(folder, production);
    const headers = { ...other.appHeaders(), 'x-forwarded-proto': 'https' };
    for (const [path, body] of [
      ['/auth/email-otp-request', { email: someone() }],
      ['/auth/email-otp-verify', { email: someone(), otp: '123456' }],
      ['/auth/messenger-otp-request', { messengerId: '1' }],
      ['/auth/messenger-login', { messengerId: '1', otp: '123456' }],
    ] as const) {
      const answer = await other.ask(path, { method: 'POST', headers, body });
      expect(await problemOfAnswer(answer)).toMatchObject({ status: 404, code: 'provider_not_found' });
    }
    const { loginMethods } = accountStatus.parse(await (await other.ask('/universal-account')).json());
    expect(loginMethods.filter((method) => method === 'email' || method === 'messenger')).toEqual([]);
  });
});
