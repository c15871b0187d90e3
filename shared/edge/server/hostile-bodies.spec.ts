import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { problemOfAnswer } from '../../testing/http/problem-of-answer.ts';
import { startThings } from '../../testing/http/things-service.ts';

describe('a hostile body', () => {
  let things: Awaited<ReturnType<typeof startThings>>;
  let authorization: string;
  beforeAll(async () => {
    things = await startThings({ environment: { RATE_LIMITS: 'off' } });
    authorization = `Bearer ${await things.tokens.accessToken()}`;
  });
  afterAll(() => things.service.close());

  const send = (body: string | Uint8Array<ArrayBuffer>, contentType: string | undefined = 'application/json') =>
    things.ask('/things', {
      method: 'POST',
      body,
      headers: { authorization, ...(contentType && { 'content-type': contentType }) },
    });

  it.each([
    ['is cut off', '{"name":'],
    ['has a comment', '{/**/"name":"n"}'],
  ])('is malformed when it %s', async (_, body) => {
    expect((await problemOfAnswer(await send(body))).code).toBe('malformed_json');
  });

  it('is malformed when it is not UTF-8', async () => {
    const bytes = Buffer.from('{"name":"xx"}');
    bytes[9] = 0xff;
    expect((await problemOfAnswer(await send(new Uint8Array(bytes)))).code).toBe('malformed_json');
  });

  it.each([
    ['an operator object', '{"name":{"$gt":""}}'],
    ['a number', '{"name":1}'],
    ['nothing', '{}'],
    ['no bytes', ''],
    ['an array', '[]'],
    ['null', 'null'],
    ['a length that cannot be compared', '{"name":{"length":{"valueOf":1,"toString":1}}}'],
    ['__proto__ in the place of a member', '{"__proto__":{"name":"n"}}'],
  ])('fails validation with %s', async (_, body) => {
    expect((await problemOfAnswer(await send(body))).code).toBe('validation_failed');
    expect(Object.prototype).not.toHaveProperty('name');
  });

  it.each([
    ['__proto__', '{"__proto__":{"name":"m","extra":1},"name":"n"}'],
    ['an escaped __proto__', '{"\\u005f_proto__":{"name":"m"},"name":"n"}'],
    ['constructor.prototype', '{"constructor":{"prototype":{"a":1}},"name":"n"}'],
  ])('is read without %s, as without any member that is not listed', async (_, body) => {
    const answer = await send(body);
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({ status: 201, body: { name: 'n' } });
    expect(Object.prototype).not.toHaveProperty('name');
  });

  it('is too large over 256 KiB, and 10 MB are refused without being read', async () => {
    const fits = JSON.stringify({ name: 'n', filler: 'x'.repeat(262_144 - 24) });
    expect(Buffer.byteLength(fits)).toBeLessThanOrEqual(262_144);
    expect((await send(fits)).status).toBe(201);
    for (const size of [262_144, 10_000_000]) {
      expect((await problemOfAnswer(await send(`{"name":"${'x'.repeat(size)}"}`))).code).toBe('body_too_large');
    }
  });

  it('is refused before it is parsed when it is nested too deep', async () => {
    const nested = (depth: number) =>
      `{"name":"n","filler":${'['.repeat(depth)}"\\\"]${'}'.repeat(99)}"${']'.repeat(depth)}}`;
    expect((await send(nested(63))).status).toBe(201);
    expect((await problemOfAnswer(await send(nested(64)))).code).toBe('validation_failed');
    expect((await problemOfAnswer(await send(`{"name":${'{"a":'.repeat(40_000)}`))).code).toBe('validation_failed');
    expect(
      (await send(JSON.stringify({ name: 'n', text: '['.repeat(1_000), list: Array(1_000).fill([]) }))).status,
    ).toBe(201);
  });

  it('is refused with an answer that reaches a caller who is still sending', async () => {
    const { status, headers } = await send(`{"name":"${'x'.repeat(10_000_000)}"}`);
    expect(status).toBe(413);
    expect(headers.get('connection')).not.toBe('close');
  });

  it('is too large without a content-length too', async () => {
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        controller.enqueue(new Uint8Array(65_536).fill(0x20));
      },
    });
    const init: RequestInit & { duplex: 'half' } = {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: endless,
      duplex: 'half',
    };
    expect((await problemOfAnswer(await things.ask('/things', init))).code).toBe('body_too_large');
  });

  it('is refused without a content type of JSON', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'nonsense']) {
      expect((await problemOfAnswer(await send('{"name":"n"}', type))).code).toBe('content_type_not_json');
    }
    expect((await send('{"name":"n"}', 'application/json; charset=utf-8')).status).toBe(201);
  });
});
