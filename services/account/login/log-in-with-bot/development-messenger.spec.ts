import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { developmentMessenger, MESSENGER_PATH } from '../../../../schemas/http/account/development-mailbox.ts';
import type { StartedLogin } from '../../../../schemas/http/account/oauth-routes.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import type { RegisteredApp } from '../../apps/register-app/register-app.handler.ts';
import { ORIGIN, startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { sessionOf } from '../../testing/sessions.ts';

const folder = temporaryFolder();
const MASTER_KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => (index * 37) % 256)).toString('base64');

describe('the messenger of a development start', () => {
  let account: AccountUnderTest;
  let app: RegisteredApp;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
    app = await account.register({ redirectUris: [`${ORIGIN}/callback`] });
  });
  afterAll(() => account.service.close());

  const started = async (): Promise<StartedLogin> => {
    const answer = await account.ask('/auth/messenger', { headers: account.appHeaders({}, app) });
    expect(answer.status).toBe(200);
    return (await answer.json()) as StartedLogin;
  };
  const open = async (url: string) => {
    const answer = await fetch(url, { headers: { accept: 'application/json' } });
    expect(answer.status).toBe(200);
    return developmentMessenger.strict().parse(await answer.json());
  };
  const back = ({ button }: { button: { url: string } | null }) =>
    account.ask('/auth/messenger/callback', {
      method: 'POST',
      headers: account.appHeaders({}, app),
      body: Object.fromEntries(new URL(button?.url ?? '').searchParams),
    });

  it('is where the link leads, and gives the code with which the login is completed', async () => {
    const { url, state } = await started();
    expect(url).toBe(`${account.service.url}${MESSENGER_PATH}?start=${state}`);
    const said = await open(url);
    const code = new URL(said.button?.url ?? '').searchParams.get('code') ?? '';
    expect(said.text).toContain(code);
    const first = await sessionOf(await back(said));
    expect((await sessionOf(await back(await open((await started()).url)))).userId).toBe(first.userId);
    const other = await open(`${(await started()).url}&from=4711`);
    expect(other.messengerId).toBe('4711');
    expect((await sessionOf(await back(other))).userId).not.toBe(first.userId);
  });

  it('is a page for people, in which nothing that it was given is markup', async () => {
    const { url } = await started();
    const page = await (await fetch(url)).text();
    expect(page).toMatch(
      /<a href="https:\/\/app\.example\/callback\?state=[\w-]+&amp;code=\w+" rel="noreferrer">Sign in<\/a>/,
    );
    const hostile = await fetch(`${account.service.url}${MESSENGER_PATH}?start=%22%3E%3Cscript%3E&from=%3Cb%3E`);
    const text = await hostile.text();
    expect(text).not.toMatch(/<script>|<b>/);
    expect(text).toContain('begin to sign in again');
  });

  it('is absent in production, and where a bot is set up', async () => {
    const production = {
      NODE_ENV: 'production',
      RATE_LIMITS: '',
      MASTER_KEY,
      CHAINS: '[{"chainId":1,"rpcUrls":["http://127.0.0.1:1"]}]',
    };
    for (const settings of [
      production,
      {
        MESSENGER_BOT_TOKEN: '1:x',
        MESSENGER_BOT_NAME: 'annals_bot',
        MESSENGER_WEBHOOK_SECRET: 'a-secret-of-the-webhook',
      },
    ]) {
      await using other = await startAccountUnderTest(folder, settings);
      expect((await other.ask(MESSENGER_PATH)).status).toBe(404);
    }
  });
});
