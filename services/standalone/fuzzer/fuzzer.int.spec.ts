import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { accountRequests } from './account-requests.ts';
import { startAccountUnderFuzzing, type AccountUnderFuzzing } from './account-under-fuzzing.ts';
import { catcherRequests } from './catcher-requests.ts';
import { startCatcherUnderFuzzing, type CatcherUnderFuzzing } from './catcher-under-fuzzing.ts';
import { Fuzzer } from './fuzzer.ts';
import { routesUnderTest } from './routes-under-test.ts';

/** `FUZZ_REQUESTS=20000 npm test -- standalone/fuzzer` tries more. */
const requestsMin = Number(process.env['FUZZ_REQUESTS'] ?? 2_000);
const successesMin = requestsMin / 200;
const FAULTS_SHOWN = 3;
/** Ends a run that hangs: a request takes some 5 ms on a processor that has nothing else to do. */
const FUZZED_WITHIN_MS = 300_000 + requestsMin * 300;

const folder = temporaryFolder();
const { FUZZ_SEED } = process.env;
const seed = Number(FUZZ_SEED ?? 1);

describe(`requests that are made from the schemas, by FUZZ_SEED=${String(seed)}`, () => {
  let account: AccountUnderFuzzing;
  let catcher: CatcherUnderFuzzing;
  let fuzzer: Fuzzer;
  beforeAll(async () => {
    [account, catcher] = await Promise.all([startAccountUnderFuzzing(folder), startCatcherUnderFuzzing()]);
    const urls = { account: account.service.url, 'event-catcher': catcher.service.url, stream: catcher.stream.url };
    fuzzer = new Fuzzer(routesUnderTest, urls, seed);
    const succeed = fuzzer.succeed.bind(fuzzer);
    const valids = { ...(await accountRequests(account, succeed)), ...(await catcherRequests(catcher)) };
    await fuzzer.run(valids, { requestsMin, successesMin });
    const [sent, withCaller] = [fuzzer.total('sent'), fuzzer.total('withCaller')].map(String);
    process.stdout.write(
      `FUZZ_SEED=${String(seed)}: ${sent ?? ''} requests, ${withCaller ?? ''} of a session or an app\n`,
    );
  }, FUZZED_WITHIN_MS);
  afterAll(async () => {
    fuzzer.close();
    await Promise.all([account.close(), catcher.close()]);
  });

  it(`are at least ${String(requestsMin)}, at least half of them of a session or an app`, () => {
    expect(fuzzer.total('sent')).toBeGreaterThanOrEqual(requestsMin);
    expect(fuzzer.total('withCaller')).toBeGreaterThanOrEqual(fuzzer.total('sent') / 2);
  });

  it.each(routesUnderTest)('are answered by $name as it is documented', ({ name }) => {
    const faults = fuzzer.faults.get(name) ?? [];
    expect(faults.slice(0, FAULTS_SHOWN).join('\n\n')).toBe('');
  });

  it.each(routesUnderTest)('succeed at $name, which needs a request here that does', ({ name }) => {
    expect(fuzzer.counts.get(name)?.succeeded).toBeGreaterThanOrEqual(successesMin);
  });

  it('change no prototype', () => {
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(Object.prototype).not.toHaveProperty('isAdmin');
  });
});
