import { z } from 'zod';
import { exportLine } from './history.ts';
import { personalData } from './personal-data.ts';
import { route } from '../route.ts';
import { user, userEntity } from './user-entity.ts';

const account = { service: 'account' } as const;
const userId = z.object({ id: z.string().min(1).max(128) });

const nameOfMessenger = z
  .string()
  .nullable()
  .exactOptional()
  .describe('at most 50 characters; null or empty clears it');

/** The messenger fields of a user, as an app says them. */
export const messengerBody = z.object({
  messengerId: z.string().min(1).max(128),
  messengerUsername: nameOfMessenger,
  messengerFirstName: nameOfMessenger,
  messengerLastName: nameOfMessenger,
  messengerAvatarUrl: z
    .string()
    .nullable()
    .exactOptional()
    .describe('an https URL of at most 2,048 characters; null or empty clears it'),
  messengerAuthDate: z.iso.datetime({ offset: true }).nullable().exactOptional(),
  messengerVerified: z
    .boolean()
    .nullable()
    .exactOptional()
    .describe('a claim: the entity shows true only of a messenger that logged in or was linked'),
});
export type MessengerBody = z.infer<typeof messengerBody>;

export const userRoutes = {
  updateMessenger: route({
    ...account,
    method: 'POST',
    path: '/user/{id}/messenger',
    summary: 'Change the own messenger fields',
    auth: 'bearer',
    command: true,
    params: userId,
    body: messengerBody,
    status: 200,
    answer: userEntity,
    problems: ['forbidden', 'user_not_found', 'user_erased'],
  }),
  findByMessenger: route({
    ...account,
    method: 'GET',
    path: '/user/messenger/{messengerId}',
    summary: 'The user who has this messenger: who logged in with it, else who claimed it first',
    auth: 'bearer',
    params: z.object({ messengerId: z.string().min(1).max(128) }),
    status: 200,
    answer: user,
    problems: ['user_not_found', 'not_caught_up'],
  }),
  exportHistory: route({
    ...account,
    method: 'GET',
    path: '/user/{id}/history/export',
    summary: 'The whole history of the own account as NDJSON, with what proves it',
    auth: 'bearer',
    params: userId,
    status: 200,
    answer: exportLine,
    answerType: 'application/x-ndjson',
    problems: ['forbidden', 'user_not_found', 'user_erased', 'not_caught_up'],
  }),
  readPersonalData: route({
    ...account,
    method: 'GET',
    path: '/user/{id}/data',
    summary: 'What is held about the own person, why, until when and where it came from, as one document',
    auth: 'bearer',
    params: userId,
    status: 200,
    answer: personalData,
    isStreamed: true,
    problems: ['forbidden', 'user_not_found', 'user_erased', 'not_caught_up'],
  }),
  eraseUser: route({
    ...account,
    method: 'DELETE',
    path: '/user/{id}',
    summary: 'Erase the own account: its history stays provable, and unreadable',
    auth: 'bearer',
    command: true,
    params: userId,
    query: z.object({
      abandon: z
        .enum(['true', 'false'])
        .default('false')
        .describe('true: also while a smart account is deployed or holds native balance, which is lost then'),
    }),
    status: 204,
    answer: z.undefined(),
    problems: ['forbidden', 'login_too_old', 'user_not_found', 'account_in_use'],
  }),
};
