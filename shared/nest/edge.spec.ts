import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Module } from '@nestjs/common';
import { z } from 'zod';
import { route } from '../../schemas/http/route.ts';
import { Refusal } from '../errors/refusal.ts';
import { testFoundation, type TestFoundation } from '../testing/test-foundation.ts';
import { testIssuer } from '../testing/test-tokens.jose.ts';
import { createService, type RunningService } from './create-service.ts';
import { Implements, type Asked, type CommandAnswer } from './implements.ts';

const base = { service: 'account', summary: '', auth: 'none', status: 200, problems: [] } as const;
const readThing = route({
  ...base,
  method: 'GET',
  path: '/things/{id}',
  params: z.object({ id: z.string().max(5) }),
  query: z.object({ take: z.coerce.number().int().default(10) }),
  answer: z.object({ id: z.string(), take: z.number() }),
});
const makeThing = route({
  ...base,
  method: 'POST',
  path: '/things',
  auth: 'bearer',
  command: true,
  status: 201,
  body: z.object({ name: z.string() }),
  answer: z.object({ name: z.string(), by: z.string() }),
});

@Controller()
class ThingsHttp {
  made = 0;

  @Implements(readThing, { reads: ['users-v1'] })
  read({ params, query }: Asked<typeof readThing>): Promise<{ id: string; take: number }> {
    if (params.id === 'boom') throw new Error('the secret cause');
    if (params.id === 'gone') throw new Refusal('user_not_found', 'no such thing');
    return Promise.resolve({ id: params.id, take: query.take });
  }

  @Implements(makeThing)
  make({ body, caller }: Asked<typeof makeThing>): Promise<CommandAnswer<{ name: string; by: string }>> {
    this.made += 1;
    return Promise.resolve({ body: { name: body.name, by: caller.userId }, position: 7 });
  }
}

@Module({ controllers: [ThingsHttp] })
class ThingsModule {}

describe('the edge of a service', () => {
  let foundation: TestFoundation;
  let service: RunningService;
  let issuer: Awaited<ReturnType<typeof testIssuer>>;
  const ask = (path: string, init: RequestInit = {}) => fetch(service.url + path, init);

  beforeAll(async () => {
    foundation = await testFoundation();
    issuer = await testIssuer();
    service = await createService({ module: ThingsModule, foundation, issuer: issuer.issuer, host: '127.0.0.1', port: 0 });
  });
  afterAll(() => service.close());

  it('gives a handler what its contract describes', async () => {
    const answer = await ask('/things/one?take=3');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ id: 'one', take: 3 });
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-z]{20}$/);
    expect(answer.headers.get('ratelimit')).toBe('"request";r=99;t=1');
  });

  it('answers a command with its position', async () => {
    const token = await issuer.accessToken();
    const answer = await ask('/things', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'n', other: 1 }),
    });
    expect(answer.status).toBe(201);
    expect(await answer.json()).toEqual({ name: 'n', by: 'usr_1' });
    expect(answer.headers.get('x-position')).toMatch(/^7-[0-9a-f]{8}$/);
  });
});
