import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { problemOfAnswer } from '../testing/http/problem-of-answer.ts';
import { startThings } from '../testing/http/things-service.ts';
import { serveDocument } from './docs-page.ts';

const production = {
  NODE_ENV: 'production',
  MASTER_KEY: 'S1pGN3K3U3bQvWl2hVJgQy3rGtq0WfOnlbF5pBbWm0A=',
  CHAINS: '[{"chainId":1,"rpcUrls":["http://127.0.0.1:1"]}]',
};

/** Starts a service with the document of the account service. */
const startWithDocs = (environment: Record<string, string>) =>
  startThings({ environment, serve: ({ settings }) => ({ configure: serveDocument('openapi.account', settings) }) });

describe('the docs', () => {
  it('are the document, and a page that shows it and loads nothing', async () => {
    await using things = await startWithDocs({});
    const document = await things.ask('/docs-json');
    expect(document.headers.get('content-type')).toBe('application/json');
    const file = new URL('../../schemas/generated/openapi.account.json', import.meta.url);
    expect(await document.text()).toBe(readFileSync(file, 'utf8'));
    const page = await things.ask('/docs');
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'unsafe-inline';/);
    const html = await page.text();
    expect(html).toContain('<h1>Annals account service</h1>');
    expect(Array.from(html.matchAll(/(?:href|src)="([^"#]+)"/g), ([, name]) => name)).toEqual(['docs-json']);
    expect((await things.ask('/docs/package.json')).status).toBe(404);
    expect((await things.ask('/docs', { method: 'POST' })).status).toBe(405);
  });

  it.each([
    ['on', {}, 200],
    ['off when DOCS says so', { DOCS: 'off' }, 404],
    ['off in production', production, 404],
    ['on in production when DOCS says so', { ...production, DOCS: 'on' }, 200],
  ])('are %s', async (_, environment, status) => {
    await using things = await startWithDocs(environment);
    for (const path of ['/docs', '/docs-json']) {
      const answer = await things.ask(path);
      expect([path, answer.status]).toEqual([path, status]);
      if (status === 404) expect((await problemOfAnswer(answer)).code).toBe('route_not_found');
    }
  });
});
