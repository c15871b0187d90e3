import { expect, it } from '@jest/globals';
import { ANSWER_WITHIN_MS } from '../../shared/edge/server/request-deadline.ts';
import { PROVIDER_LIMITS } from './login/log-in-with-oauth/providers/identity-providers.oidc.ts';
import { STARTED_WITHIN_MS } from './login/password-hashes.ts';
import { SENT_WITHIN_MS } from './messages/mailer.smtp.ts';
import { ANSWER_WITHIN_MS as MESSENGER_ANSWERS_WITHIN_MS } from './messages/messenger.telegram.ts';
import { ANSWERS_WITHIN_MS } from './open-chains.ts';

it.each([
  ['a mail server', SENT_WITHIN_MS],
  ['a messenger', MESSENGER_ANSWERS_WITHIN_MS],
  ['a login provider', PROVIDER_LIMITS.answerMs],
  ['the hash of a password, before it begins', STARTED_WITHIN_MS],
  ['two endpoints of a chain, one after the other', 2 * ANSWERS_WITHIN_MS],
])('a request is answered after it has waited for %s', (_, waitsMs) => {
  expect(waitsMs).toBeLessThan(ANSWER_WITHIN_MS);
});

it('each request to a login provider ends before the answer that needs it', () => {
  const { requestMs, userInfoMs, answerMs } = PROVIDER_LIMITS;
  expect(Math.max(requestMs, userInfoMs)).toBeLessThan(answerMs);
});
