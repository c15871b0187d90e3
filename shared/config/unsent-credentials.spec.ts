import { expect, it } from '@jest/globals';
import { hasUnsentCredentials, optionName } from './unsent-credentials.ts';

it('an option of EventStoreDB is recognised whatever its case and separators', () => {
  for (const text of ['keepAliveInterval', 'KEEP_ALIVE_INTERVAL', ' keep-alive-interval ']) {
    expect(optionName(text)).toBe('keepaliveinterval');
  }
});

it.each([
  ['esdb://ada:hush@a?tls=false', true],
  ['esdb://ada:hush@a?T_L-S= false ', true],
  ['esdb://ada:hush@a?tls=true&tls=false', true],
  ['esdb://ada:hush@a?tls=false&tls=true', false],
  ['esdb://ada:hush@a?tls=true', false],
  ['esdb://ada:hush@a?other=false', false],
  ['esdb://ada:hush@a', false],
  ['esdb://a?tls=false', false],
  ['nowhere', false],
])('credentials of %s are never sent: %s', (url, unsent) => {
  expect(hasUnsentCredentials(url)).toBe(unsent);
});
