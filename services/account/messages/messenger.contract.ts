import { describe, expect, it } from '@jest/globals';
import type { Messenger, MessengerMessage } from './messenger.ts';

interface OpenMessenger {
  messenger: Messenger;
  /** What was sent so far, oldest first: whom to, and all that was said. */
  sent: () => { to: string; all: string }[];
}

/** Defines what every adapter of the port must do. */
export const messengerContract = (name: string, open: () => OpenMessenger): void => {
  describe(`messenger by ${name}`, () => {
    const send = async (message: MessengerMessage) => {
      const { messenger, sent } = open();
      await messenger.send('4711', message);
      return sent().at(-1);
    };

    it('sends a text as it is', async () => {
      const text = 'Your code is 123456 & <b>nothing</b> else: "äöü" 🎉\nUse it.';
      expect(await send({ text })).toEqual({ to: '4711', all: expect.stringContaining(text) as unknown });
    });

    it.each(['https://app.example/callback?state=s&code=c', 'http://localhost:5173/callback?state=s&code=c'])(
      'sends a button to %s, or its link in the text',
      async (url) => {
        const { all } = (await send({ text: 'Welcome', button: { label: 'Open the app', url } })) ?? { all: '' };
        for (const part of ['Welcome', 'Open the app', url]) expect(all).toContain(part);
      },
    );

    it('names a link that gives the bot a state', () => {
      const { pathname, search } = new URL(open().messenger.deepLink('a_State-1'));
      expect(pathname).not.toBe('/');
      expect(search).toBe('?start=a_State-1');
    });
  });
};
