import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { sized } from '../../../shared/testing/sized.ts';
import { flood, requestText } from './attackers.ts';
import { describeAttack, expectWithinBudgets, ProgramUnderAttack } from './program-under-attack.ts';

const folder = temporaryFolder();
const size = sized({ small: { connections: 10, forMs: 2_000 }, full: { connections: 200, forMs: 15_000 } });
/** Limit per address: fewer than a busy machine sends. */
const ALLOWED = { points: 50, seconds: 1 };
const REFUSED_WITHIN_MS = 60_000;
const preflight = { origin: 'https://nobody.example', 'access-control-request-method': 'POST' };

describeAttack('somebody who asks as fast as answers come', () => {
  let attacked: ProgramUnderAttack;
  beforeAll(async () => {
    attacked = await ProgramUnderAttack.start(folder, { RATE_LIMITS: JSON.stringify({ address: ALLOWED }) });
  });
  afterAll(() => attacked[Symbol.asyncDispose]());

  it.each([
    ['for what does not exist', '404', requestText('GET', '/nothing')],
    ['by a method that is not allowed', '405', requestText('PUT', '/auth/web3')],
    ['whether an origin may', '403', requestText('OPTIONS', '/auth/web3', preflight)],
    ['whether the process is ready', '200', requestText('GET', '/health/ready')],
    ['with a path that cannot be read', '400', requestText('GET', '/user/%E0%A4%A')],
    ['for new tokens with junk', '401', requestText('POST', '/auth/refresh', {}, '{"refreshToken":"x"}')],
  ])('%s, is refused, and holds up nobody else', async (_, status, text) => {
    const { accountUrl } = attacked.development;
    let answers: Record<string, number> = {};
    let seconds = 0;
    const cost = await attacked.during(async () => {
      const from = performance.now();
      const isEnough = ({ 429: refused = 0 }: Readonly<Record<string, number>>) =>
        refused > 0 || performance.now() - from > REFUSED_WITHIN_MS;
      answers = await flood(accountUrl, { ...size, text, isEnough });
      seconds = (performance.now() - from) / (ALLOWED.seconds * 1_000);
    });
    expect(answers['429']).toBeGreaterThan(0);
    // The limit applies to each second that has begun, however long the flood lasted.
    expect(answers[status]).toBeLessThanOrEqual(ALLOWED.points * (Math.ceil(seconds) + 1));
    expectWithinBudgets(cost);
  });
});
