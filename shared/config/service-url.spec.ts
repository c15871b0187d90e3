import { expect, it } from '@jest/globals';
import { serviceUrl } from './service-url.ts';

it.each([
  ['127.0.0.1', 'http://127.0.0.1:3000'],
  ['accounts.internal', 'http://accounts.internal:3000'],
  ['::1', 'http://[::1]:3000'],
  ['0.0.0.0', 'http://localhost:3000'],
  ['::', 'http://localhost:3000'],
])('a service that listens on %s has the URL %s', (host, url) => {
  expect(serviceUrl(host, 3000)).toBe(url);
});
