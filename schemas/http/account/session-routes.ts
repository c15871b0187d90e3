import { z } from 'zod';
import { isoTime, loginMethod } from '../../values.ts';
import { asOf } from '../as-of.ts';
import { route } from '../route.ts';

const account = { service: 'account' } as const;

export const listedSession = z.object({
  id: z.string(),
  app: z.string().describe('the id of the app that it is a session of'),
  method: loginMethod,
  device: z.string().nullable().describe('the user-agent of its login'),
  createdAt: isoTime,
  lastUsedAt: isoTime.nullable().describe('when it was last refreshed; null in an answer as of an earlier time'),
  current: z.boolean().describe('whether this request belongs to it'),
});
export type ListedSession = z.infer<typeof listedSession>;
export const sessionList = z.object({ items: z.array(listedSession) });
export type SessionList = z.infer<typeof sessionList>;

export const appToken = z.object({
  accessToken: z.string(),
  accessTokenExpire: z.int().describe('Unix milliseconds'),
});
export type AppToken = z.infer<typeof appToken>;

export const sessionRoutes = {
  issueAppToken: route({
    ...account,
    method: 'POST',
    path: '/auth/app',
    summary: 'A token of the app itself for 10 minutes: its server key signs, by scheme v2',
    auth: 'app',
    signedByServerKey: true,
    rateLimit: 'login',
    status: 201,
    answer: appToken,
    problems: [],
  }),
  listSessions: route({
    ...account,
    method: 'GET',
    path: '/auth/sessions',
    summary:
      'The own sessions that have not ended: the last used first, as of an earlier time the last begun first, at most 1,000',
    auth: 'bearer',
    query: z.object({ asOf }),
    status: 200,
    answer: sessionList,
    problems: ['not_caught_up'],
  }),
  endSession: route({
    ...account,
    method: 'DELETE',
    path: '/auth/sessions/{id}',
    summary: 'End one of the own sessions',
    auth: 'bearer',
    command: true,
    params: z.object({ id: z.string().min(1).max(128) }),
    status: 204,
    answer: z.undefined(),
    problems: ['session_not_found', 'forbidden'],
  }),
  endOtherSessions: route({
    ...account,
    method: 'DELETE',
    path: '/auth/sessions',
    summary: 'End all of the own sessions but this one',
    auth: 'bearer',
    command: true,
    status: 204,
    answer: z.undefined(),
    problems: ['forbidden'],
  }),
  logOut: route({
    ...account,
    method: 'POST',
    path: '/auth/logout',
    summary: 'End this session',
    auth: 'bearer',
    command: true,
    status: 204,
    answer: z.undefined(),
    problems: [],
  }),
};
