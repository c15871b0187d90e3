import { expect } from '@jest/globals';
import { userStream } from '../../../schemas/events/account/user-events.ts';
import type { StartedLogin } from '../../../schemas/http/account/oauth-routes.ts';
import { problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { userFold } from '../users/domain/user.ts';
import { ORIGIN, PROVIDER_LIMITS, startAccountUnderTest } from './account-under-test.ethers.ts';
import type { HostileProvider } from './hostile-provider.jose.ts';
import { sessionOf } from './sessions.ts';

export const REDIRECT_URI = `${ORIGIN}/callback?from=provider`;

/** The account service with an app whose people log in at providers. */
export const startProviderLogins = async (folder: string, settings: Record<string, object>) => {
  const environment = Object.entries(settings).map(([name, value]) => [name, JSON.stringify(value)]);
  const limits = { ...PROVIDER_LIMITS };
  const account = await startAccountUnderTest(folder, Object.fromEntries(environment) as Record<string, string>, {
    providerLimits: limits,
  });
  const app = await account.register({ redirectUris: [REDIRECT_URI] });

  const ask = (path: string, options: { method?: string; body?: object; headers?: Record<string, string> } = {}) =>
    account.ask(path, { ...options, headers: { ...account.appHeaders({}, app), ...options.headers } });
  const start = async (method: string): Promise<StartedLogin> => {
    const answer = await ask(`/auth/${method}`);
    expect(answer.status).toBe(200);
    return (await answer.json()) as StartedLogin;
  };
  const callback = (method: string, body: object) => ask(`/auth/${method}/callback`, { method: 'POST', body });
  const logIn = async (method: string, provider: HostileProvider, more: object = {}): Promise<Response> => {
    const { url, state } = await start(method);
    return callback(method, { state, code: provider.codeFor(url), ...more });
  };
  const userOf = async (answer: Response) => {
    const { userId } = await sessionOf(answer);
    const { state: user } = await account.transactor.load(userStream(userId), userFold);
    return user.entity;
  };
  const labelsOf = async (answer: Response) => (await userOf(answer))?.identities.map(({ label }) => label) ?? [];
  const refusalOf = async (answer: Response) => {
    const { code, detail } = await problemOfAnswer(answer);
    return { code, detail };
  };
  /** Warnings about providers since this was asked last. */
  const warnings = () =>
    account.foundation.logged.splice(0).filter(({ level, provider }) => level === 40 && provider !== undefined);
  /** How long a provider may take; `answerMs` and `userInfoMs` can be changed at any time. */
  return { account, limits, app, ask, start, callback, logIn, userOf, labelsOf, refusalOf, warnings };
};
