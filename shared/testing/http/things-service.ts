import { setTimeout as pause } from 'node:timers/promises';
import { Controller, Module } from '@nestjs/common';
import { z } from 'zod';
import { route } from '../../../schemas/http/route.ts';
import { Refusal } from '../../errors/refusal.ts';
import { startService, type ServiceOptions } from '../../edge/start-service.ts';
import { Implements, type ParsedRequest, type CommandAnswer } from '../../edge/requests/implements.ts';
import type { Clock } from '../../primitives/clock.ts';
import { testFoundation, type TestFoundation } from '../test-foundation.ts';
import { testIssuer } from './test-tokens.jose.ts';

const base = { service: 'account', summary: '', auth: 'none', status: 200, problems: [] } as const;
const readThing = route({
  ...base,
  method: 'GET',
  path: '/things/{id}',
  params: z.object({ id: z.string().max(300) }),
  query: z.object({ take: z.coerce.number().int().default(10) }),
  answer: z.object({ id: z.string(), take: z.number() }),
});
const readMine = route({
  ...base,
  method: 'GET',
  path: '/mine',
  auth: 'bearer',
  answer: z.object({ of: z.string() }),
});
const waitForThing = route({
  ...base,
  method: 'GET',
  path: '/slow-things',
  answer: z.object({ waited: z.literal(true) }),
});
const makeSigned = route({
  ...base,
  method: 'POST',
  path: '/signed-things',
  command: true,
  signedBody: ['signature'],
  status: 201,
  body: z.object({ signature: z.string(), name: z.string() }),
  answer: z.object({ made: z.number() }),
});
const makeThing = route({
  ...base,
  method: 'POST',
  path: '/things',
  auth: 'bearer',
  command: true,
  status: 201,
  body: z.object({ name: z.string().max(200) }),
  answer: z.object({ name: z.string(), by: z.string(), made: z.number() }),
});

/** More than one address may leave unread. */
const LONGEST = 40 * 1_024 * 1_024;

let held = Promise.withResolvers<undefined>();
let heldNow = 0;
/** Number of held requests: for the thing `held`, and for slow things. */
export const heldCount = (): number => heldNow;
/** Releases the requests that are held. */
export const letGo = (): void => {
  heldNow = 0;
  held.resolve(undefined);
  held = Promise.withResolvers();
};
const beHeld = async (): Promise<void> => {
  heldNow += 1;
  await held.promise;
};

let made = 0;
let replayed = 0;
const used = new Set<string>();

@Controller()
class ThingsHttp {
  @Implements(readThing, { reads: ['users-v5'] })
  async read({ params, query }: ParsedRequest<typeof readThing>): Promise<{ id: string; take: number }> {
    if (params.id === 'broken') throw new Error('the secret cause');
    if (params.id === 'gone') throw new Refusal('user_not_found', 'no such thing');
    if (params.id === 'slow') await pause(200);
    if (params.id === 'held') await beHeld();
    if (params.id === 'longest') return { id: 'x'.repeat(LONGEST), take: query.take };
    return { id: params.id, take: query.take };
  }

  @Implements(readMine, { reads: ['users-v5'] })
  readMine({ caller }: ParsedRequest<typeof readMine>): Promise<{ of: string }> {
    return Promise.resolve({ of: caller.userId });
  }

  @Implements(waitForThing, { moreTimeMs: () => 10_000 })
  async wait(): Promise<{ waited: true }> {
    await beHeld();
    return { waited: true };
  }

  /** Each signature works once. */
  @Implements(makeSigned)
  async makeSigned({ body }: ParsedRequest<typeof makeSigned>): Promise<CommandAnswer<{ made: number }>> {
    if (body.signature === 'wrong') throw new Refusal('bot_signature_invalid', 'not signed');
    if (used.has(body.signature)) {
      replayed += 1;
      throw new Refusal('request_replayed', 'the signature was used');
    }
    used.add(body.signature);
    made += 1;
    const count = made;
    if (body.name === 'held') await beHeld();
    return { body: { made: count }, position: 7 };
  }

  @Implements(makeThing)
  async make({
    body,
    caller,
  }: ParsedRequest<typeof makeThing>): Promise<CommandAnswer<{ name: string; by: string; made: number }>> {
    made += 1;
    const count = made;
    if (body.name === 'held') await beHeld();
    if (body.name === 'taken') throw new Refusal('already_subscribed', 'another has it');
    if (body.name === 'guessed') throw new Refusal('otp_invalid', 'one guess less');
    if (body.name === 'down') throw new Refusal('dependency_unavailable', 'not now', { retryAfter: 1 });
    return { body: { name: body.name, by: caller.userId, made: count }, position: 7 };
  }
}

@Module({ controllers: [ThingsHttp] })
export class ThingsModule {}

/** A service with one query and one command, to test the conventions of every service. */
export const startThings = async (
  options: {
    environment?: Record<string, string>;
    clock?: Clock;
    answerWithinMs?: number;
    drainMs?: number;
    serve?: (foundation: TestFoundation) => Pick<ServiceOptions, 'configure'>;
  } = {},
) => {
  const foundation = await testFoundation(options);
  const tokens = await testIssuer();
  const service = await startService({
    module: ThingsModule,
    foundation,
    issuer: tokens.issuer,
    host: '127.0.0.1',
    port: 0,
    ...(options.drainMs !== undefined && { drainMs: options.drainMs }),
    ...options.serve?.(foundation),
  });
  foundation.processHealth.report({ things: service });
  const ask = (path: string, init: RequestInit = {}) => fetch(service.url + path, init);
  const post = async (body: unknown, headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${await tokens.accessToken()}`;
    const json = { authorization, 'content-type': 'application/json', ...headers };
    return ask('/things', { method: 'POST', headers: json, body: JSON.stringify(body) });
  };
  const counts = { made: () => made, replayed: () => replayed };
  return { foundation, service, tokens, ask, post, ...counts, [Symbol.asyncDispose]: () => service.close() };
};
