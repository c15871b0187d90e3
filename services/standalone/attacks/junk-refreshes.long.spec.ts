import { afterAll, beforeAll, it } from '@jest/globals';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { sized } from '../../../shared/testing/sized.ts';
import { flood } from './attackers.ts';
import { describeAttack, expectWithinBudgets, ProgramUnderAttack } from './program-under-attack.ts';

const folder = temporaryFolder();
const size = sized({ small: { connections: 4, forMs: 2_000 }, full: { connections: 50, forMs: 20_000 } });

describeAttack('somebody who refreshes what is no session', () => {
  let attacked: ProgramUnderAttack;
  beforeAll(async () => {
    attacked = await ProgramUnderAttack.start(folder);
  });
  afterAll(() => attacked[Symbol.asyncDispose]());

  const refresh = (body: string, headers: Record<string, string>): string =>
    [
      'POST /auth/refresh HTTP/1.1',
      'host: annals',
      'content-type: application/json',
      `content-length: ${String(body.length)}`,
      ...Object.entries(headers).map((pair) => pair.join(': ')),
      '',
      body,
    ].join('\r\n');

  it.each([
    ['a token that nobody signed', JSON.stringify({ refreshToken: 'junk' })],
    ['no token', '{}'],
  ])('by %s, stores nothing and holds up nobody else, with an idempotency key or without', async (_, body) => {
    const { accountUrl } = attacked.development;
    const { connections, forMs } = size;
    const texts = Array.from({ length: connections }, (__, at) =>
      refresh(body, at % 2 === 0 ? {} : { 'idempotency-key': String(at) }),
    );
    const attack = () => Promise.all(texts.map((text) => flood(accountUrl, { connections: 1, forMs, text })));
    expectWithinBudgets(await attacked.during(attack));
  });
});
