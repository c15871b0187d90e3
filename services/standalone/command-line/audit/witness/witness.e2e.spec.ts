import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../../shared/testing/eventually.ts';
import { signIn } from '../../../../../shared/testing/http/http-caller.ethers.ts';
import { ServedWitness } from '../../../../../shared/testing/http/served-witness.ts';
import { freePort } from '../../../../../shared/testing/processes/free-port.ts';
import { RunningProcess } from '../../../../../shared/testing/processes/running-process.ts';
import { RunningProgram } from '../../../../../shared/testing/processes/running-program.ts';
import { ServedLog } from '../../../../../shared/testing/served-log.ts';
import { temporaryFolder } from '../../../../../shared/testing/temporary-folder.ts';
import { parseCheckpoint } from '../../../../../shared/transparency-log/checkpoint.ts';
import { RemoteLog } from '../../../../../shared/transparency-log/remote-log.ts';
import { openNote, parseNote, vkeyOf, type NoteKey } from '../../../../../shared/transparency-log/signed-note.ts';
import { addCheckpointBody } from '../../../../../shared/transparency-log/witnesses/add-checkpoint.ts';
import { openWitnessKey } from '../../../../../shared/transparency-log/witnesses/witness-key.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 30_000;

interface WitnessProcess {
  url: string;
  key: NoteKey;
  start: (log?: string, logKey?: string) => Promise<RunningProcess>;
}

describe('annals audit witness --port, beside npm start', () => {
  let program: RunningProgram;
  let lying: ServedWitness;
  let [first, second]: WitnessProcess[] = [];
  const running: RunningProcess[] = [];

  beforeAll(async () => {
    [first, second] = await Promise.all([witnessProcess('first.example'), witnessProcess('second.example')]);
    lying = await ServedWitness.start('lying.example');
    lying.misbehaves = (response, { signer }) => response.end(signer.sign('another text\n', 1_700_000_000));
    const ours = [first, second].map(({ url, key }) => ({ url, vkey: vkeyOf(key) }));
    const LOG_WITNESSES = JSON.stringify([...ours, lying.setting]);
    program = await RunningProgram.start(join(folder, 'data'), { LOG_WITNESSES });
  });
  afterAll(async () => {
    await Promise.all(running.map((process) => process.kill()));
    await program.stop();
    lying[Symbol.dispose]();
  });

  const witnessProcess = async (name: string): Promise<WitnessProcess> => {
    const keyFile = join(folder, `${name}.key`);
    const { key } = openWitnessKey(keyFile, name);
    const port = String(await freePort());
    const start = async (log = logUrl(), knownKey?: string) => {
      const logKey = knownKey ?? (await (await fetch(`${log}/key`)).text());
      const files = ['--key-file', keyFile, '--state', join(folder, `${name}.state`)];
      const args = ['audit', 'witness', '--log', log, '--log-key', logKey, ...files, '--port', port];
      const process = RunningProcess.spawn(name, ['services/standalone/annals.js', ...args], {});
      running.push(process);
      await process.ready(/takes checkpoints at/);
      return process;
    };
    return { url: `http://127.0.0.1:${port}`, key, start };
  };
  const logUrl = () => `${program.development.accountUrl}/log`;
  const checkpoint = async () => {
    const note = await (await fetch(`${logUrl()}/checkpoint`)).text();
    return { note, size: parseCheckpoint(parseNote(note).text).size };
  };
  /** Returns the size of a checkpoint that exactly these have cosigned. */
  const cosignedBy = (witnesses: readonly (WitnessProcess | undefined)[], sizeMin: number) =>
    eventually(
      async () => {
        const { note, size } = await checkpoint();
        const names = parseNote(note).signatures.map(({ name }) => name);
        const keys = witnesses.flatMap((one) => one?.key ?? []);
        const isThere = keys.every((key) => openNote(note, key)) && names.length === 1 + keys.length;
        return isThere && size >= sizeMin && size;
      },
      HAPPENS_WITHIN_MS,
      `a checkpoint must be cosigned by these ${String(witnesses.length)}`,
    );

  it('cosigns what is served, while another witness is killed and a third one lies', async () => {
    const { size } = await checkpoint();
    const killed = await second?.start();
    await first?.start();
    const cosigned = await cosignedBy([first, second], size);

    await killed?.kill();
    await signIn(program.development);
    const grown = await cosignedBy([first], cosigned + 1);

    await program.stop();
    program = await program.restart();
    await second?.start();
    const whole = await cosignedBy([first, second], grown);
    for (const witness of [first, second]) {
      const own = await (await fetch(`${witness?.url ?? ''}/checkpoint`)).text();
      const file = join(folder, `${witness?.key.name ?? ''}.state`);
      expect(own).toBe(readFileSync(file, 'utf8'));
      expect(parseCheckpoint(parseNote(own).text).size).toBeGreaterThanOrEqual(whole);
    }
    expect(lying.requests.length).toBeGreaterThan(0);
    const timesSaid = (what: RegExp) => program.output.match(what)?.length ?? 0;
    const [failed, recovered] = [
      /a witness has not cosigned a checkpoint/g,
      /a witness cosigns the checkpoints .* again/g,
    ];
    // Each of the three witnesses is named once, until it cosigns again.
    expect(timesSaid(failed)).toBeLessThanOrEqual(3 + timesSaid(recovered));
  });

  it('ends with exit code 1 and a line that says fork, once a log has signed two histories', async () => {
    using log = await ServedLog.start();
    const third = await witnessProcess('third.example');
    const process = await third.start(log.url, vkeyOf(log.signer.key));
    const post = async (entries: readonly string[], old: number) => {
      log.hold(entries);
      const note = await new RemoteLog(log.url).checkpoint();
      const body = addCheckpointBody({ old, proof: [], note });
      return (await fetch(`${third.url}/add-checkpoint`, { method: 'POST', body })).status;
    };
    expect([await post(['a', 'b'], 0), await post(['a', 'changed'], 2)]).toEqual([200, 409]);
    expect(await process.ended()).toBe(1);
    expect(process.output).toMatch(/ fork: log\.example\/log has signed 2 leaves .*, and 2 leaves /);
    expect(readFileSync(join(folder, 'third.example.state.fork'), 'utf8')).toMatch(/^log\.example\/log\n2\n/);
  });
});
