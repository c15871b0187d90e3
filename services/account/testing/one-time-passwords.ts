import { userStream } from '../../../schemas/events/account/user-events.ts';
import {
  MAILBOX_PATH,
  type DevelopmentMailboxAnswer,
  type DevelopmentMessage,
} from '../../../schemas/http/account/development-mailbox.ts';
import type { Session } from '../../../schemas/http/account/session.ts';
import { userFold } from '../users/domain/user.ts';
import { IdentityIds } from '../login/identity-ids.ts';
import type { AccountUnderTest } from './account-under-test.ethers.ts';

/** Returns what the development mailbox of an account service has for somebody, newest first. */
export const mailTo = async (accountUrl: string, to: string): Promise<DevelopmentMessage[]> => {
  const answer = await fetch(accountUrl + MAILBOX_PATH, { headers: { accept: 'application/json' } });
  const { messages } = (await answer.json()) as DevelopmentMailboxAnswer;
  return messages.filter((message) => message.to === to);
};

/** Returns the six digits in a text. */
export const passwordIn = (text: string): string => {
  const [password, ...others] = text.match(/\b\d{6}\b/g) ?? [];
  if (password === undefined || others.some((other) => other !== password)) throw new Error(`no password in: ${text}`);
  return password;
};

/** Returns the newest password that the mailbox has for somebody. */
export const newestPassword = async (accountUrl: string, to: string): Promise<string> =>
  passwordIn((await mailTo(accountUrl, to))[0]?.text ?? '');

/** Returns another password than this one. */
export const wrong = (password: string, by = 1): string => String((Number(password) + by) % 1_000_000).padStart(6, '0');

let people = 0;
/** Returns an address that no spec of this file had before. */
export const someone = (): string => `person${String((people += 1))}@mail.example`;

/** The calls of a login by email. */
export const emailCalls = (account: AccountUnderTest) => {
  const post = (path: string, body: object, headers: Record<string, string>) =>
    account.ask(path, { method: 'POST', headers: { ...account.appHeaders(), ...headers }, body });
  const request = (email: string, headers: Record<string, string> = {}) =>
    post('/auth/email-otp-request', { email }, headers);
  return {
    request,
    verify: (email: string, otp: string, headers: Record<string, string> = {}, token?: string) =>
      post('/auth/email-otp-verify', { email, otp, ...(token !== undefined && { token }) }, headers),
    /** Requests a password, and returns it. */
    requested: async (email: string, headers: Record<string, string> = {}): Promise<string> => {
      const answer = await request(email, headers);
      if (answer.status !== 201) throw new Error(`request answered ${String(answer.status)} ${await answer.text()}`);
      return newestPassword(account.service.url, email);
    },
    identityIdOf: (email: string) => account.service.app.get(IdentityIds).keyedIdentity('email', email),
    /** What is known of the user of a session. */
    userOf: async ({ userId }: Session) => (await account.transactor.load(userStream(userId), userFold)).state.entity,
    eventsOf: (stream: string) => account.foundation.eventStore.read(stream),
  };
};
