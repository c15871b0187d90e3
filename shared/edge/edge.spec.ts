import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { problemOfAnswer } from '../testing/http/problem-of-answer.ts';
import { rawConnection } from '../testing/http/raw-http.ts';
import { startThings } from '../testing/http/things-service.ts';

describe('the edge of a service', () => {
  let things: Awaited<ReturnType<typeof startThings>>;
  beforeAll(async () => {
    things = await startThings({ environment: { RATE_LIMITS: 'off' } });
  });
  afterAll(() => things.service.close());

  it('passes a handler the members of its contract, and drops the rest', async () => {
    const answer = await things.ask('/things/one?take=3&_other=1');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ id: 'one', take: 3 });
  });

  it('marks answers as private, and does not name the server software', async () => {
    const { headers } = await things.ask('/things/one');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('vary')).toBe('origin');
    expect(headers.has('x-powered-by')).toBe(false);
  });

  it('uses the request id of the caller, or creates one', async () => {
    const given = await things.ask('/things/one', { headers: { 'x-request-id': 'Mine_1-2' } });
    expect(given.headers.get('x-request-id')).toBe('Mine_1-2');
    for (const wrong of ['with space', 'x'.repeat(65), 'semi;colon']) {
      const made = await things.ask('/things/one', { headers: { 'x-request-id': wrong } });
      expect(made.headers.get('x-request-id')).toMatch(/^[0-9a-z]{20}$/);
    }
    expect(things.foundation.logged).toContainEqual(
      expect.objectContaining({ requestId: 'Mine_1-2', method: 'GET', route: '/things/:id', status: 200 }),
    );
  });

  it('names every invalid member', async () => {
    const problem = await problemOfAnswer(await things.ask(`/things/${'x'.repeat(301)}?take=many`));
    expect(problem.code).toBe('validation_failed');
    expect(problem.errors?.map(({ path }) => path)).toEqual(['id', 'take']);
  });

  it('answers a refusal with its problem document', async () => {
    const problem = await problemOfAnswer(await things.ask('/things/gone'));
    expect(problem).toMatchObject({
      status: 404,
      code: 'user_not_found',
      title: 'No such user',
      detail: 'no such thing',
    });
  });

  it('keeps the cause of an unexpected failure in the log', async () => {
    const answer = await things.ask('/things/broken', { headers: { 'x-request-id': 'broken-1' } });
    const problem = await problemOfAnswer(answer);
    expect(problem).toMatchObject({ status: 500, code: 'internal_error' });
    expect(JSON.stringify(problem)).not.toContain('secret');
    const logged = things.foundation.logged.find((line) => line['requestId'] === 'broken-1' && 'err' in line);
    expect(logged?.['err']).toMatchObject({ message: 'the secret cause' });
  });

  it('distinguishes an unknown path from an unknown method', async () => {
    expect((await problemOfAnswer(await things.ask('/nothing'))).code).toBe('route_not_found');
    expect((await problemOfAnswer(await things.ask('/nothing', { method: 'POST', body: 'x' }))).code).toBe(
      'route_not_found',
    );
    const answer = await things.ask('/things/one', { method: 'DELETE' });
    expect((await problemOfAnswer(answer)).code).toBe('http_method_not_allowed');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
    const put = await things.ask('/things', { method: 'PUT', body: 'x' });
    expect(put.status).toBe(405);
    expect(put.headers.get('allow')).toBe('POST');
    expect((await things.ask('/things/one', { method: 'HEAD' })).status).toBe(200);
    const rare = await things.ask('/things/one', { method: 'PROPFIND' });
    expect(rare.status).toBe(405);
    expect(rare.headers.get('allow')).toBe('GET, HEAD');
  });

  it('refuses a path that cannot be decoded, or is too long', async () => {
    expect((await problemOfAnswer(await things.ask('/things/%E0%A4%A'))).code).toBe('validation_failed');
    expect((await problemOfAnswer(await things.ask(`/things/${'x'.repeat(3_000)}`))).code).toBe('validation_failed');
  });

  it('answers invalid HTTP, and endless headers, with a problem document too', async () => {
    for (const bytes of ['NONSENSE\r\n\r\n', `GET / HTTP/1.1\r\nhost: x\r\nx-large: ${'x'.repeat(20_000)}\r\n\r\n`]) {
      const connection = rawConnection(things.service.url);
      connection.write(bytes);
      const answer = await connection.answer;
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain('application/problem+json');
      expect(answer).toContain('"code":"validation_failed"');
    }
  });

  it('reports whether it is live and ready', async () => {
    expect((await things.ask('/health/live')).status).toBe(200);
    const ready = await things.ask('/health/ready');
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({ status: 'ready', dependencies: { eventStore: 'up', readStore: 'up' } });
  });
});
