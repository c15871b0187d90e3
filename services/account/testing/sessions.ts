import { session as sessionSchema, type Session } from '../../../schemas/http/account/session.ts';

/** Returns the session of a login. @throws when it was refused */
export const sessionOf = async (answer: Response): Promise<Session> => {
  if (answer.status !== 201) throw new Error(`login answered ${String(answer.status)} ${await answer.text()}`);
  return sessionSchema.strict().parse(await answer.json());
};

/** The header of a request of a session. */
export const bearer = ({ accessToken }: Pick<Session, 'accessToken'>) => ({ authorization: `Bearer ${accessToken}` });
