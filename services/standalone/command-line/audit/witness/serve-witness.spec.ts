import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../../shared/testing/eventually.ts';
import { freePort } from '../../../../../shared/testing/processes/free-port.ts';
import { ServedLog } from '../../../../../shared/testing/served-log.ts';
import { temporaryFolder } from '../../../../../shared/testing/temporary-folder.ts';
import { consistencyProof } from '../../../../../shared/transparency-log/merkle-tree.ts';
import { RemoteLog } from '../../../../../shared/transparency-log/remote-log.ts';
import { COSIGNATURE, NoteSigner, openNote } from '../../../../../shared/transparency-log/signed-note.ts';
import { readProof } from '../../../../../shared/transparency-log/tiles.ts';
import { addCheckpointBody } from '../../../../../shared/transparency-log/witnesses/add-checkpoint.ts';
import { Witness } from '../../../../../shared/transparency-log/witnesses/witness.ts';
import { serveWitness } from './serve-witness.ts';
import { WitnessState } from './witness-state.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 10_000;
const signer = new NoteSigner('witness.example', Buffer.alloc(32, 6), COSIGNATURE);
const entries = (size: number, changed?: number): string[] =>
  Array.from({ length: size }, (_, at) => (at === changed ? 'changed' : `entry ${String(at)}`));

describe('annals audit witness --port', () => {
  let log: ServedLog;
  let started = 0;
  let file: string;
  let url: string;
  let printed: { outcome: string; text: string }[];
  let interruption: AbortController;
  let ended: Promise<unknown>;
  beforeEach(async () => {
    log = await ServedLog.start();
    file = join(folder, `${String((started += 1))}.state`);
    await start();
  });
  afterEach(async () => {
    interruption.abort();
    await ended;
    log[Symbol.dispose]();
    process.exitCode = undefined;
  });

  const start = async () => {
    printed = [];
    interruption = new AbortController();
    const { signal } = interruption;
    const print = (outcome: string, said: string) => printed.push({ outcome, text: said });
    const witness = new Witness(new RemoteLog(log.url, signal), log.signer.key, signer, Date.now);
    const state = WitnessState.open(file, witness, print);
    const port = await freePort();
    ended = serveWitness({ witness, state, print, host: '127.0.0.1', port, signal }).catch((error: unknown) => error);
    url = `http://127.0.0.1:${String(port)}`;
    await eventually(() => outcomes().includes('listening'), HAPPENS_WITHIN_MS, 'it must listen');
  };
  const outcomes = () => printed.map(({ outcome }) => outcome);
  const body = async (held: readonly string[], old: number, proven = true): Promise<string> => {
    log.hold(held);
    const remote = new RemoteLog(log.url);
    const proof = await readProof(consistencyProof(old, held.length), held.length, remote.tiles);
    return addCheckpointBody({ old, proof: proven ? proof : [], note: await remote.checkpoint() });
  };
  const post = (content: string) => fetch(`${url}/add-checkpoint`, { method: 'POST', body: content });
  const newest = async () => (await fetch(`${url}/checkpoint`)).text();

  it('cosigns what continues what it has cosigned, which is on the disk before, and answers the newest', async () => {
    expect((await fetch(`${url}/checkpoint`)).status).toBe(404);
    for (const [size, old] of [
      [3, 0],
      [300, 3],
    ] as const) {
      const answer = await post(await body(entries(size), old));
      const line = await answer.text();
      expect([answer.status, line]).toEqual([200, openNote(readFileSync(file, 'utf8'), signer.key)?.line]);
      expect(await newest()).toBe(readFileSync(file, 'utf8'));
    }
    interruption.abort();
    expect(await ended).toBeUndefined();
    await start();
    const conflict = await post(await body(entries(301), 0));
    expect([conflict.status, conflict.headers.get('content-type'), await conflict.text()]).toEqual([
      ...[409, 'text/x.tlog.size', '300\n'],
    ]);
    expect(outcomes()).toEqual(['listening']);
  });

  it('cosigns one of two that come at once', async () => {
    await post(await body(entries(3), 0));
    const [one, other] = [await body(entries(300), 3), await body(entries(300, 200), 3)];
    const answers = await Promise.all([post(one), post(other), post(one), post(other)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409]);
    expect(outcomes().filter((outcome) => outcome === 'cosigned')).toHaveLength(2);
  });

  it.each([
    ['another root of the same size', 300],
    ['a larger one that does not continue it', 600],
  ])('ends at %s, with the state as it was', async (_, size) => {
    await post(await body(entries(300), 0));
    const before = readFileSync(file, 'utf8');
    const forked = await body(entries(size, 7), 300);
    expect([409, 422]).toContain((await post(forked)).status);
    expect(await ended).toBeUndefined();
    expect([outcomes().at(-1), process.exitCode, readFileSync(file, 'utf8')]).toEqual(['fork', 1, before]);
    expect(printed.at(-1)?.text).toMatch(/^fork: log\.example\/log has signed 300 leaves/);
    expect(forked).toContain(readFileSync(`${file}.fork`, 'utf8'));
  });

  it('takes a wrong proof for no fork, which anybody could send', async () => {
    await post(await body(entries(300), 0));
    const wrong = await body(entries(600), 300, false);
    for (const _ of [1, 2]) expect((await post(wrong)).status).toBe(422);
    await eventually(
      () => printed.some(({ text: said }) => said.startsWith('the proof was wrong')),
      HAPPENS_WITHIN_MS,
      'it must look at the tiles',
    );
    log[Symbol.dispose]();
    log = await ServedLog.start();
    expect((await post(await body(entries(700), 300, false))).status).toBe(422);
    await eventually(() => outcomes().includes('suspected-fork'), HAPPENS_WITHIN_MS, 'it must say what it cannot tell');
    expect([existsSync(`${file}.suspected`), existsSync(`${file}.fork`)]).toEqual([true, false]);
    expect([process.exitCode, (await post(await body(entries(700), 300))).status]).toEqual([undefined, 200]);
  });

  it('refuses what is no request, and goes on', async () => {
    expect((await post('no request')).status).toBe(400);
    expect((await post('x'.repeat(65 * 1_024))).status).toBe(413);
    expect((await fetch(`${url}/add-checkpoint`)).status).toBe(404);
    expect((await fetch(`${url}/other`, { method: 'POST' })).status).toBe(404);
    const { port } = new URL(url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write('POST /add-checkpoint HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nold');
    socket.destroySoon();
    const garbage = connect(Number(port), '127.0.0.1');
    garbage.write('\u0000\u0001\r\n\r\n');
    expect(await text(garbage)).toContain('400 Bad Request');
    expect((await post(await body(entries(3), 0))).status).toBe(200);
    expect(existsSync(`${file}.fork`)).toBe(false);
  });

  it('is refused on a port that is in use', async () => {
    const port = Number(new URL(url).port);
    const witness = new Witness(new RemoteLog(log.url), log.signer.key, signer, Date.now);
    const state = WitnessState.open(join(folder, 'none'), witness, () => undefined);
    const { signal } = interruption;
    await expect(
      serveWitness({ witness, state, print: () => undefined, host: '127.0.0.1', port, signal }),
    ).rejects.toThrow(`port ${String(port)} of 127.0.0.1 cannot be listened on (EADDRINUSE): set --port`);
  });
});
