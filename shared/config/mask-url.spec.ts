import { expect, it } from '@jest/globals';
import { maskUrl } from './mask-url.ts';

it.each([
  ['http://127.0.0.1:8545', 'http://127.0.0.1:8545'],
  ['http://127.0.0.1:8545/', 'http://127.0.0.1:8545'],
  ['wss://rpc.example/key', 'wss://rpc.example/…'],
  ['https://rpc.example?key=key', 'https://rpc.example/…'],
  ['https://key@rpc.example', 'https://rpc.example/…'],
  ['https://:key@rpc.example', 'https://rpc.example/…'],
  ['https://user:pass@rpc.example:8443/v3/key?apikey=key', 'https://rpc.example:8443/…'],
  ['mongodb://u:hush@a:1,[::1]:2/db?w=1', 'mongodb://a:1,[::1]:2/…'],
  ['mongodb://u:hu/sh@a,b', '********'],
  ['hush', '********'],
])('%s is shown as %s', (url, shown) => {
  expect(maskUrl(url)).toBe(shown);
});
