import { createServer } from 'node:net';
import { once } from 'node:events';
import { inspect } from 'node:util';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MailServerUnderTest } from '../testing/mail-server.smtp.ts';
import { SmtpMailer } from './mailer.smtp.ts';
import { Undeliverable } from './undeliverable.ts';

const message = {
  to: 'Ada.Lovelace@mail.example',
  subject: '123456 is your code – für Ada',
  text: '123456 is your code.\n.\nFor Ada.',
  html: '<p><b>123456</b> is your code.</p>',
};

/** However busy the machine is, a server that is there takes a message. */
const HOUR_MS = 3_600_000;

describe('mail by SMTP', () => {
  let server: MailServerUnderTest;
  beforeEach(async () => {
    server = await new MailServerUnderTest().start();
  });
  afterEach(() => server.stop());
  const mailerOf = (url: string, { requireTls = false, sentWithinMs = HOUR_MS } = {}) =>
    new SmtpMailer({ url, from: 'Annals <no-reply@annals.example>', requireTls }, sentWithinMs);
  const errorOf = async (mailer: SmtpMailer, changes: Partial<typeof message> = {}): Promise<unknown> => {
    try {
      await mailer.send({ ...message, ...changes });
    } catch (error) {
      expect(inspect(error)).not.toMatch(/ada\.lovelace|hush/i);
      return error;
    }
    return undefined;
  };

  it('arrives as text and HTML, from and to whom it says', async () => {
    await mailerOf(server.url).send(message);
    const [mail] = server.received;
    expect(mail).toMatchObject({ from: 'no-reply@annals.example', to: ['Ada.Lovelace@mail.example'] });
    const source = mail?.source ?? '';
    expect(source).toMatch(/^From: Annals <no-reply@annals\.example>$/m);
    expect(source).toMatch(/^To: Ada\.Lovelace@mail\.example$/m);
    expect(source).toMatch(/^Content-Type: text\/plain/m);
    expect(source).toMatch(/^Content-Type: text\/html/m);
    expect(source).toMatch(/^Auto-Submitted: auto-generated$/m);
  });

  it('has one recipient and no header of whoever asked, whatever the address and the subject hold', async () => {
    const mailer = mailerOf(server.url);
    const attempts = [
      { to: 'a@mail.example, b@mail.example' },
      { to: 'a@mail.example\r\nBcc: b@mail.example' },
      { to: '"x" <a@mail.example>' },
      { subject: 'hello\r\nBcc: b@mail.example\r\n\r\nbody' },
    ];
    for (const changes of attempts) await errorOf(mailer, changes);
    for (const { to, source } of server.received) {
      expect(to).toHaveLength(1);
      expect(to).not.toContain('b@mail.example');
      expect(source).not.toMatch(/^Bcc:/im);
    }
  });

  it('tells a recipient that the server refuses from a server that takes nothing', async () => {
    server.recipientAnswer = 550;
    expect(await errorOf(mailerOf(server.url))).toBeInstanceOf(Undeliverable);
    server.recipientAnswer = 450;
    expect(await errorOf(mailerOf(server.url))).toMatchObject({ code: 'dependency_unavailable' });
    server.recipientAnswer = undefined;
    server.senderAnswer = 550;
    expect(await errorOf(mailerOf(server.url))).toMatchObject({
      code: 'dependency_unavailable',
      cause: { message: 'EENVELOPE MAIL FROM 550' },
    });
  });

  it('is sent once more where the server says that it may take it later, and not where it never will', async () => {
    server.firstSenderAnswers.push(451);
    await mailerOf(server.url).send(message);
    expect(server.received).toHaveLength(1);
    server.firstSenderAnswers.push(451, 421);
    expect(await errorOf(mailerOf(server.url))).toMatchObject({ code: 'dependency_unavailable' });
    server.firstSenderAnswers.push(550);
    expect(await errorOf(mailerOf(server.url))).toMatchObject({ code: 'dependency_unavailable' });
    expect(server.received).toHaveLength(1);
  });

  it('is given up in time when the server hangs, says nothing at all, or is gone', async () => {
    server.hangs = true;
    let connections = 0;
    const mute = createServer(() => (connections += 1)).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const muteUrl = `smtp://127.0.0.1:${String((mute.address() as AddressInfo).port)}`;
    const errors = await Promise.all([
      ...[server.url, muteUrl].map((url) => errorOf(mailerOf(url, { sentWithinMs: 100 }))),
      errorOf(mailerOf('smtp://127.0.0.1:1')),
    ]);
    for (const error of errors) expect(error).toMatchObject({ code: 'dependency_unavailable' });
    // A second attempt would take as long again.
    expect(connections).toBeLessThanOrEqual(1);
    mute.close();
  });

  it('is sent with a password where the server demands one, but never without TLS where that is required', async () => {
    const strict = await new MailServerUnderTest({ user: 'annals', password: 'hush' }).start();
    await mailerOf(strict.url).send(message);
    expect(strict.received).toHaveLength(1);
    expect(await errorOf(mailerOf(strict.url.replace('hush', 'wrong')))).toMatchObject({
      code: 'dependency_unavailable',
    });
    expect(await errorOf(mailerOf(strict.url, { requireTls: true }))).toMatchObject({ code: 'dependency_unavailable' });
    expect(strict.received).toHaveLength(1);
    await strict.stop();
  });

  it('does not wait behind more connections than the server would like', async () => {
    const mailer = mailerOf(server.url);
    await Promise.all(Array.from({ length: 40 }, () => mailer.send(message)));
    expect(server.received).toHaveLength(40);
  });
});
