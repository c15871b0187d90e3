import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { atOnce } from '../../../../shared/testing/at-once.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { EstimatedOperations } from '../../testing/estimated-operations.ethers.ts';
import { RpcUnderTest } from '../../testing/rpc-under-test.ethers.ts';
import { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { SendsUnderTest } from '../../testing/sends-under-test.ethers.ts';
import { casesOf } from '../../../../shared/testing/cases.ts';

/** `SEED=17` runs that one alone, `ESTIMATES=1000` as many. */
const [SEED, ESTIMATES] = [process.env['SEED'], Number(process.env['ESTIMATES'] ?? casesOf(60))];
const seeds = SEED === undefined ? Array.from({ length: ESTIMATES }, (_, index) => index + 1) : [Number(SEED)];
const AT_ONCE = 6;
/** An access token is for ten minutes. */
const OF_A_SESSION = 100;
/** Of a thousand. */
const WRONG_MAX = 1;
/** Of one seed, on a busy machine. */
const PATIENCE_MS = 60_000;
const DEPOSIT_WEI = 100n * 10n ** 18n;

const folder = temporaryFolder();

describe('random operations', () => {
  let sends: SendsUnderTest;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { depositWei: DEPOSIT_WEI });
  });
  afterAll(() => sends.stop());

  const told = async (operations: EstimatedOperations, random: SeededRandom) => {
    const { name, outcome } = await (random.chance(0.25) ? operations.ofUser(random) : operations.overRpc(random));
    const failed = (error: unknown) => ({ estimated: 'it ends', happened: String(error) });
    return { name, ...(await outcome().catch(failed)) };
  };
  const estimatedAndSent = async (
    operations: EstimatedOperations,
    seed: number,
  ): Promise<{ reverts: boolean; wrong: string[] }> => {
    const random = new SeededRandom(seed);
    const { name, estimated, happened } = await told(operations, random).catch((error: unknown) => ({
      ...{ name: 'it failed', estimated: 'it ends', happened: String(error) },
    }));
    const again = `SEED=${String(seed)} npm test -- estimates`;
    const wrong = estimated === happened ? [] : [`${again}\n  ${name}\n  estimated: ${estimated}\n  then: ${happened}`];
    return { reverts: estimated.startsWith('reverts'), wrong };
  };

  it(
    'succeed and revert as was estimated',
    async () => {
      const all = [];
      for (let from = 0; from < seeds.length; from += OF_A_SESSION) {
        const operations = new EstimatedOperations(await RpcUnderTest.start(sends));
        const some = seeds.slice(from, from + OF_A_SESSION);
        all.push(...(await atOnce(some.length, (at) => estimatedAndSent(operations, some[at] ?? 0), AT_ONCE)));
      }
      const wrong = all.flatMap((one) => one.wrong);
      const reverting = all.filter(({ reverts }) => reverts).length;
      process.stdout.write(
        `${String(seeds.length)} estimates, ${String(reverting)} of calls that revert; ${String(wrong.length)} wrong\n`,
      );
      if (wrong.length * 1_000 > WRONG_MAX * seeds.length) expect(wrong.join('\n')).toBe('');
      process.stdout.write(wrong.map((one) => `${one}\n`).join(''));
      const areMany = seeds.length >= 60;
      expect(areMany ? reverting / seeds.length : 0.2).toBeCloseTo(0.2, 0);
    },
    seeds.length * PATIENCE_MS,
  );
});
