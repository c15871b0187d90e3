import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { BotApi } from '../testing/bot-api.ts';
import { DevelopmentMailbox } from './development-mailbox.memory.ts';
import { messengerContract } from './messenger.contract.ts';
import { TelegramMessenger } from './messenger.telegram.ts';
import { SenderRefused } from './sender-refused.ts';
import { Undeliverable } from './undeliverable.ts';

/** However busy the machine is, a messenger that is there answers. */
const HOUR_MS = 3_600_000;

let api: BotApi;
let messenger: TelegramMessenger;
beforeAll(async () => {
  api = await new BotApi().start();
  messenger = new TelegramMessenger({ apiUrl: api.url, token: api.token, name: 'annals_bot' }, HOUR_MS);
});
afterAll(() => api.stop());

messengerContract('Telegram', () => ({
  messenger,
  sent: () =>
    api.sent.map(({ messengerId, ...rest }) => ({ to: messengerId, all: Object.values(allOf(rest)).join(' ') })),
}));

const allOf = ({ text, button }: { text: string; button: { label: string; url: string } | undefined }) => ({
  text,
  ...button,
});

const mailbox = new DevelopmentMailbox({
  clock: new TestClock(),
  ids: systemIds,
  accountUrl: () => 'http://127.0.0.1:3000',
});
messengerContract('the development mailbox', () => ({
  messenger: mailbox.messenger,
  sent: () => mailbox.messages.toReversed().map(({ to, text }) => ({ to, all: text })),
}));

describe('a messenger that refuses', () => {
  beforeEach(() => {
    api.behaviour.retryAfter = undefined;
    api.behaviour.hangs = false;
  });
  const errorOf = async (to: string, by = messenger): Promise<unknown> => {
    try {
      await by.send(to, { text: 'x', button: { label: 'y', url: 'https://app.example/?code=hush' } });
    } catch (error) {
      expect(inspect(error)).not.toMatch(/AAstandin|hush/);
      return error;
    }
    return undefined;
  };

  it('a person who blocked the bot, or never wrote to it, is told from one that cannot be reached now', async () => {
    api.behaviour.blocked.add('13');
    api.behaviour.unknown.add('14');
    expect(await errorOf('13')).toBeInstanceOf(Undeliverable);
    expect(await errorOf('14')).toBeInstanceOf(Undeliverable);
    api.behaviour.refused.set('16', 400);
    expect(await errorOf('16')).toBeInstanceOf(Undeliverable);
    api.behaviour.refused.set('17', 502);
    expect(await errorOf('17')).toMatchObject({ code: 'dependency_unavailable' });
  });

  it.each(['-1001234', '@channel', '0123', '1e3', 'ada', ''])('writes to people only, not to %p', async (id) => {
    const before = api.sent.length;
    expect(await errorOf(id)).toBeInstanceOf(Undeliverable);
    expect(api.sent).toHaveLength(before);
  });

  it('passes on how long the messenger asks to wait', async () => {
    api.behaviour.retryAfter = 17;
    expect(await errorOf('15')).toMatchObject({ code: 'rate_limited', retryAfter: 17 });
  });

  it('says in which setting the fault is when the bot is not known', async () => {
    const other = new TelegramMessenger({ apiUrl: api.url, token: '1:AAstandinother', name: 'x' }, HOUR_MS);
    const error = await errorOf('15', other);
    expect(error).toBeInstanceOf(SenderRefused);
    expect(error).toMatchObject({ message: expect.stringContaining('check MESSENGER_BOT_TOKEN') as unknown });
  });

  it('is given up in time, or at once when nobody listens', async () => {
    api.behaviour.hangs = true;
    const impatient = new TelegramMessenger({ apiUrl: api.url, token: api.token, name: 'annals_bot' }, 50);
    expect(await errorOf('15', impatient)).toMatchObject({ code: 'dependency_unavailable' });
    const stopped = await new BotApi().start();
    const apiUrl = stopped.url;
    await stopped.stop();
    const gone = new TelegramMessenger({ apiUrl, token: '1:AAstandin', name: 'x' }, HOUR_MS);
    expect(await errorOf('15', gone)).toMatchObject({
      code: 'dependency_unavailable',
      cause: { message: 'ECONNREFUSED' },
    });
  });
});
