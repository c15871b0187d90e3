import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { appsModel } from '../../read-models/account/apps.ts';
import { storedEvent } from '../../testing/event-builder.ts';
import { eventually } from '../../testing/eventually.ts';
import { problemOfAnswer } from '../../testing/http/problem-of-answer.ts';
import { projectInto } from '../../testing/project.ts';
import { startThings } from '../../testing/http/things-service.ts';

const EXPOSED = 'x-position, x-request-id, RateLimit, RateLimit-Policy, Retry-After, Date';

describe('browsers', () => {
  let things: Awaited<ReturnType<typeof startThings>>;
  const register = (appId: string, origin: string) =>
    projectInto(
      things.foundation.readStore,
      [appsModel],
      [storedEvent('AppRegistered', { appId, origins: [origin] }, { position: 1 })],
    );
  beforeAll(async () => {
    things = await startThings({ environment: { RATE_LIMITS: 'off' } });
    await register('app_1', 'https://app.example');
  });
  afterAll(() => things.service.close());

  const preflight = (origin: string) =>
    things.ask('/things', { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } });

  it('learn from a preflight what the origin of a registered app may send', async () => {
    const answer = await preflight('https://app.example');
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(answer.headers.get('access-control-allow-methods')).toBe('GET, POST, DELETE');
    expect(answer.headers.get('access-control-allow-headers')).toBe(
      'x-signature, x-timestamp, x-api-key, authorization, content-type, idempotency-key, x-min-position, x-request-id',
    );
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
    expect(answer.headers.get('vary')).toBe('origin');
  });

  it('may read answers and their headers, also of errors', async () => {
    for (const [path, method] of [
      ['/things', 'POST'],
      ['/nothing', 'GET'],
    ] as const) {
      const { headers } = await things.ask(path, { method, headers: { origin: 'https://app.example' } });
      expect(headers.get('access-control-allow-origin')).toBe('https://app.example');
      expect(headers.get('access-control-expose-headers')).toBe(EXPOSED);
    }
  });

  it('of every origin may read what needs no token, also its errors', async () => {
    for (const path of ['/things/one', '/things/gone']) {
      for (const origin of ['https://app.example', 'https://evil.example']) {
        const { headers } = await things.ask(path, { headers: { origin } });
        expect(headers.get('access-control-allow-origin')).toBe('*');
        expect(headers.get('access-control-expose-headers')).toBe(EXPOSED);
      }
    }
  });

  it('are told which origin an operator would have to allow, and how', async () => {
    const { detail } = await problemOfAnswer(await preflight('https://evil.example'));
    expect(detail).toContain('https://evil.example');
    expect(detail).toContain('annals app allow-origin <app id> https://evil.example');
  });

  it('of other origins may do neither', async () => {
    for (const origin of ['https://evil.example', 'https://app.example.evil', 'http://app.example', 'null']) {
      expect((await problemOfAnswer(await preflight(origin))).code).toBe('origin_not_allowed');
      const { headers } = await things.ask('/things', { method: 'POST', headers: { origin } });
      expect(headers.has('access-control-allow-origin')).toBe(false);
    }
  });

  it('of a new origin are admitted within about a second', async () => {
    await preflight('https://new.example');
    await register('app_2', 'https://new.example');
    await eventually(async () => (await preflight('https://new.example')).ok, 1_500, 'the new origin must be allowed');
  });
});
