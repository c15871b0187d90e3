import { describe, expect, it } from '@jest/globals';
import { accountStatus } from '../../../schemas/http/account/account-routes.ts';
import { developmentMailbox } from '../../../schemas/http/account/development-mailbox.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import { DevelopmentMailbox } from './development-mailbox.memory.ts';
import { MAILER, type Mailer } from './mailer.ts';
import { MESSENGER, type Messenger } from './messenger.ts';
import { startAccountUnderTest } from '../testing/account-under-test.ethers.ts';

const folder = temporaryFolder();
const MASTER_KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => (index * 37) % 256)).toString('base64');
const production = {
  NODE_ENV: 'production',
  RATE_LIMITS: '',
  MASTER_KEY,
  CHAINS: '[{"chainId":1,"rpcUrls":["http://a"]}]',
};

describe('the mailbox of a development start', () => {
  it('shows what was sent, newest first, to programs as JSON', async () => {
    await using account = await startAccountUnderTest(folder);
    const mailer = account.service.app.get<Mailer>(MAILER);
    const messenger = account.service.app.get<Messenger>(MESSENGER);
    await mailer.send({ to: 'ada@mail.example', subject: 'Hello', text: 'as text', html: '<p>as HTML</p>' });
    account.clock.time += 1;
    await messenger.send('4711', { text: 'Welcome', button: { label: 'Open', url: 'https://app.example/?a=1&b=2' } });
    const answer = await account.ask('/dev/mailbox', { headers: { accept: 'application/json' } });
    expect(answer.status).toBe(200);
    const id = expect.any(String) as unknown;
    const sentAt = (at: number) => new Date(at).toISOString();
    expect(developmentMailbox.strict().parse(await answer.json())).toEqual({
      messages: [
        {
          id,
          channel: 'messenger',
          to: '4711',
          subject: '',
          text: 'Welcome\n\nOpen: https://app.example/?a=1&b=2',
          html: '<p>Welcome</p><p><a href="https://app.example/?a=1&amp;b=2">Open</a></p>',
          sentAt: sentAt(account.clock.time),
        },
        {
          id,
          channel: 'email',
          to: 'ada@mail.example',
          subject: 'Hello',
          text: 'as text',
          html: '<p>as HTML</p>',
          sentAt: sentAt(account.clock.time - 1),
        },
      ],
    });
  });

  it('shows it to people as a page in which nothing of a message is markup', async () => {
    await using account = await startAccountUnderTest(folder);
    const mailer = account.service.app.get<Mailer>(MAILER);
    expect(await (await account.ask('/dev/mailbox')).text()).toContain('Nothing was sent yet.');
    const hostile = `<script>alert(1)</script>"' & https://app.example/?a=1&b="onclick=x`;
    await mailer.send({ to: hostile, subject: hostile, text: hostile, html: hostile });
    const answer = await account.ask('/dev/mailbox', { headers: { accept: 'text/html' } });
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    const page = await answer.text();
    expect(page).not.toMatch(/<script|"onclick/);
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page).toContain('<a href="https://app.example/?a=1&amp;b=&quot;onclick=x" rel="noreferrer">');
  });

  it('keeps the newest messages only', async () => {
    const mailbox = new DevelopmentMailbox({
      clock: new TestClock(),
      ids: systemIds,
      accountUrl: () => 'http://127.0.0.1:3000',
    });
    for (let sent = 1; sent <= 250; sent += 1) await mailbox.messenger.send(String(sent), { text: 'x' });
    expect(mailbox.messages).toHaveLength(200);
    expect(mailbox.messages.at(-1)?.to).toBe('51');
  });

  it('is absent in production, which offers no login whose server is not set up', async () => {
    await using account = await startAccountUnderTest(folder, production);
    const answer = await account.ask('/dev/mailbox');
    expect(await problemOfAnswer(answer)).toMatchObject({ status: 404, code: 'route_not_found' });
    const { loginMethods } = accountStatus.parse(await (await account.ask('/universal-account')).json());
    expect(loginMethods.filter((method) => method === 'email' || method === 'messenger')).toEqual([]);
    expect(account.service.app.get<Mailer | null>(MAILER)).toBeNull();
    expect(account.service.app.get<Messenger | null>(MESSENGER)).toBeNull();
  });
});
