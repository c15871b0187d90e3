import type { RequestListener } from 'node:http';
import type { LoginAnswer } from '../../../../shared/client/session-keeper.ts';

const LIFE_MS = 600_000;

/**
 * Answers every login and refresh of `@annals/client` with a token. Where `token` fails, it answers an error, or not at
 * all. Every second token is stale at once, so that the client asks for another one before it uses it.
 */
export const tokenService = (token: () => Promise<string>): RequestListener => {
  let answered = 0;
  let failed = 0;
  return (_, response) => {
    token().then(
      (accessToken) => {
        answered += 1;
        const answer: LoginAnswer = {
          ...{ accessToken, accessTokenExpire: answered % 2 === 0 ? 0 : Date.now() + LIFE_MS },
          ...{ refreshToken: `refresh-${String(answered)}`, userId: 'usr_1' },
        };
        response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
      },
      () => {
        failed += 1;
        if (failed % 2 === 0) response.destroy();
        else response.writeHead(503).end(JSON.stringify({ code: 'dependency_unavailable', status: 503 }));
      },
    );
  };
};
