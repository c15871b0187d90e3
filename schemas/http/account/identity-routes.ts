import { z } from 'zod';
import { route } from '../route.ts';

export const identityRoutes = {
  unlinkIdentity: route({
    service: 'account',
    method: 'DELETE',
    path: '/user/{id}/identities/{identityId}',
    summary: 'Unlink an identity of the own account, and end the sessions that began with it',
    auth: 'bearer',
    command: true,
    params: z.object({ id: z.string().min(1).max(128), identityId: z.string().min(1).max(128) }),
    status: 204,
    answer: z.undefined(),
    problems: ['forbidden', 'login_too_old', 'identity_not_found', 'last_identity'],
  }),
};
