import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RunningProcesses, type ServiceProcess } from '../../../../shared/testing/processes/running-processes.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import type { Mining } from '../../end-to-end/program-on-chain.ts';
import { faultRandom } from '../fault-random.ts';
import { SendsUnderFault } from './sends-under-fault.ts';

const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 3);
if (!Number.isInteger(ROUNDS) || ROUNDS < 1) throw new Error('FAULT_ROUNDS must be a number of kills');
/** Number of concurrent sends when a process is killed. */
const SENDS = 8;
const KILLED_WITHIN_MS = 400;
const TEST_MS = 120_000 + ROUNDS * 30_000;
/** `FAULT_BLOCKS=none` restricts the rounds to one kind of mining. */
const { FAULT_BLOCKS } = process.env;
const blocks = (['at once', 'each second', 'none'] as const satisfies Mining[]).filter(
  (one) => FAULT_BLOCKS === undefined || FAULT_BLOCKS === one,
);
if (blocks.length === 0) throw new Error('FAULT_BLOCKS must be "at once", "each second" or "none"');
const folder = temporaryFolder();
const random = faultRandom();

const filesIn = (name: string): string[] =>
  readdirSync(name, { recursive: true, encoding: 'utf8' })
    .map((file) => join(name, file))
    .filter((file) => statSync(file).isFile());

describe('each send that is answered is included once, however often', () => {
  let system: SendsUnderFault | undefined;
  const others: ServiceProcess[] = [];
  afterEach(async () => {
    await Promise.all(others.splice(0).map(({ process }) => process.kill()));
    await system?.stop();
  }, TEST_MS);

  it(
    `the whole program is killed, and no private key is written anywhere: ${String(ROUNDS)} times, with blocks ${blocks.join(', ')}`,
    async () => {
      let program: RunningProgram | undefined;
      const sends = (system = await SendsUnderFault.start(join(folder, 'one'), async (...settings) => {
        program = await RunningProgram.start(...settings);
        return program;
      }));
      if (!program) throw new Error('nothing was started');
      const sending: Promise<void>[] = [];
      let said = '';
      for (let round = 0; round < ROUNDS; round += 1) {
        await sends.mining(blocks[round % blocks.length] ?? 'none');
        const sender = await sends.signIn();
        const before = sends.answered.length;
        for (let send = 0; send < SENDS; send += 1) sending.push(sends.send(sender));
        await pause(random.between(0, KILLED_WITHIN_MS));
        await program.kill();
        said += program.output;
        sends.program = program = await program.restart();
        expect(await sends.answeredOtherwise(sends.answered.slice(before))).toEqual([]);
      }
      await Promise.all(sending);
      expect(await sends.answeredOtherwise(sends.answered)).toEqual([]);
      await sends.everythingIsOver();
      await program.stop();
      said += program.output + JSON.stringify(sends.answered.map(({ answer }) => answer.body));
      const written = filesIn(sends.dataFolder).map((file) => readFileSync(file));
      const has = (found: string | Buffer) => [said, ...written].filter((one) => one.includes(found as never)).length;
      // Proves that the search works: answers, events and topics contain the hashes of operations.
      expect(has(sends.answered[0]?.answer.body['userOpHash'] as string)).toBeGreaterThan(2);
      const keys = await sends.privateKeys();
      expect(keys.length).toBeGreaterThan(ROUNDS);
      for (const key of keys) {
        for (const form of [key, key.toString('hex'), key.toString('base64'), key.toString('base64url')]) {
          expect(has(form)).toBe(0);
        }
      }
    },
    TEST_MS,
  );

  it(
    `one of two account processes on one folder is killed: ${String(ROUNDS)} times, with blocks ${blocks.join(', ')}`,
    async () => {
      let processes: RunningProcesses | undefined;
      const sends = (system = await SendsUnderFault.start(join(folder, 'two'), async (dataFolder, settings) => {
        processes = await RunningProcesses.start(dataFolder, settings);
        return processes;
      }));
      if (!processes) throw new Error('nothing was started');
      const { accountUrl } = sends.program.development;
      let other = await processes.another('account');
      const sending: Promise<void>[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        await sends.mining(blocks[round % blocks.length] ?? 'none');
        const sender = await sends.signIn();
        const urls = [accountUrl, other.url];
        for (let send = 0; send < SENDS; send += 1) sending.push(sends.send(sender, urls));
        await pause(random.between(0, KILLED_WITHIN_MS));
        if (round % 2 === 0) {
          await processes.kill('account');
          await processes.restart('account');
        } else {
          await other.process.kill();
          other = await processes.another('account');
        }
      }
      await Promise.all(sending);
      expect(await sends.answeredOtherwise(sends.answered)).toEqual([]);
      await sends.everythingIsOver();
    },
    TEST_MS,
  );

  it(
    `the bundler that runs alone is killed: ${String(ROUNDS)} times, with blocks ${blocks.join(', ')}`,
    async () => {
      let processes: RunningProcesses | undefined;
      const sends = (system = await SendsUnderFault.start(join(folder, 'alone'), async (dataFolder, settings) => {
        processes = await RunningProcesses.start(dataFolder, { ...settings, BUNDLER: 'off' });
        return processes;
      }));
      if (!processes) throw new Error('nothing was started');
      const sending: Promise<void>[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        await sends.mining(blocks[round % blocks.length] ?? 'none');
        const sender = await sends.signIn();
        for (let send = 0; send < SENDS; send += 1) sending.push(sends.send(sender));
        await pause(random.between(0, KILLED_WITHIN_MS));
        await processes.kill('bundler');
        await processes.restart('bundler');
      }
      await Promise.all(sending);
      expect(await sends.answeredOtherwise(sends.answered)).toEqual([]);
      await sends.everythingIsOver();
    },
    TEST_MS,
  );
});
