import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ServedLog } from '../../testing/served-log.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { checkpointText, type Checkpoint } from '../checkpoint.ts';
import { consistencyProof, leafHash } from '../merkle-tree.ts';
import { RemoteLog } from '../remote-log.ts';
import { COSIGNATURE, NoteSigner, openNote, signedNote } from '../signed-note.ts';
import { readProof } from '../tiles.ts';
import { addCheckpointBody, type AddCheckpoint } from './add-checkpoint.ts';
import { Witness } from './witness.ts';
import { openWitnessKey } from './witness-key.ts';

const folder = temporaryFolder();
const NOW = 1_700_000_000_500;
const SIZES = [1, 2, 3, 255, 256, 257, 600];
const signer = new NoteSigner('witness.example', Buffer.alloc(32, 6), COSIGNATURE);
const entries = (size: number, changed?: number): string[] =>
  Array.from({ length: size }, (_, at) => (at === changed ? 'changed' : `entry ${String(at)}`));

describe('a witness', () => {
  let log: ServedLog;
  let witness: Witness;
  beforeEach(async () => {
    log = await ServedLog.start();
    witness = new Witness(new RemoteLog(log.url), log.signer.key, signer, () => NOW);
  });
  afterEach(() => {
    log[Symbol.dispose]();
  });
  const opened = (note: string | undefined) => (note === undefined ? undefined : witness.known(note));
  const cosigned = async (size: number, known?: string): Promise<string | undefined> => {
    log.hold(entries(size));
    return (await witness.next(opened(known)))?.note;
  };

  it('cosigns each checkpoint that continues the one before', async () => {
    let known: string | undefined;
    for (const size of SIZES) {
      known = await cosigned(size, known);
      expect(openNote(known ?? '', signer.key)?.time).toBe(1_700_000_000);
      expect(openNote(known ?? '', log.signer.key)?.text).toContain(`log.example/log\n${String(size)}\n`);
      expect(await witness.next(opened(known))).toBeUndefined();
    }
  });

  it('lets a cache answer an older one', async () => {
    const known = await cosigned(300);
    log.hold(entries(300), 200);
    expect(await witness.next(opened(known))).toBeUndefined();
  });

  it.each([
    ['changed', (size: number) => entries(size, 0)],
    ['changed at the end', (size: number) => entries(size, 299)],
    ['left out', (size: number) => entries(size + 1).slice(1)],
    ['added', (size: number) => ['added', ...entries(size - 1)]],
    ['moved', (size: number) => [...entries(size).slice(0, 2).reverse(), ...entries(size).slice(2)]],
  ])('finds a leaf that was %s, in a longer and an equally long log', async (_, forged) => {
    const known = await cosigned(300);
    for (const size of [300, 301, 600]) {
      log.hold(forged(size));
      await expect(witness.next(opened(known))).rejects.toThrow('of which none begins with the other');
    }
    // A shorter one has not the tiles that could tell a rollback from an old answer.
    log.hold(forged(299));
    await expect(witness.next(opened(known))).rejects.toMatchObject({ name: 'LogAway' });
  });

  it('keeps the signatures of the log and its own alone, so that no other line makes its state unreadable', async () => {
    log.hold(entries(3));
    const text = checkpointText(witness.known((await cosigned(3)) ?? ''));
    const inItsName = `— witness.example ${Buffer.concat([signer.key.id, Buffer.alloc(72, 1)]).toString('base64')}\n`;
    for (const others of [[inItsName], Array<string>(99).fill('— somebody AAAAAAAA\n')]) {
      log.sign(text, log.signer, others);
      const next = await witness.next(undefined);
      expect(witness.known(next?.note ?? '').size).toBe(3);
      expect(next?.note.split('\n— ')).toHaveLength(3);
    }
  });

  it('takes a tile that was changed on the way for no fork', async () => {
    for (const [before, after] of [
      [300, 600],
      [3, 600],
      [256, 600],
      [257, 512],
    ] as const) {
      const known = await cosigned(before);
      log.hold(entries(after));
      for (const path of log.paths) {
        log.hold(entries(after));
        log.changeTile(path);
        // Tiles that no proof needs may be anything.
        const outcome = await witness.next(opened(known)).catch((error: unknown) => (error as Error).name);
        expect(['WrongTiles', 'object']).toContain(typeof outcome === 'string' ? outcome : typeof outcome);
      }
    }
  });

  it.each([
    [
      'signed by another key',
      new NoteSigner('log.example/log', Buffer.alloc(32, 9)),
      'log.example/log',
      'not signed by',
    ],
    ['of another log', undefined, 'other.example/log', 'a checkpoint of other.example/log, not of log.example/log'],
  ])('refuses a checkpoint %s', async (_, by, origin, reason) => {
    log.sign(checkpointText({ origin, size: 1, root: leafHash('entry 0') }), by);
    await expect(witness.next(undefined)).rejects.toThrow(reason);
  });

  it('refuses a state that it has not cosigned', async () => {
    log.hold(entries(3));
    const foreign = new Witness(
      new RemoteLog(log.url),
      log.signer.key,
      new NoteSigner('witness.example', Buffer.alloc(32, 8), COSIGNATURE),
      () => NOW,
    );
    const known = (await witness.next(undefined))?.note;
    expect(() => foreign.known(known ?? '')).toThrow('it is not cosigned by witness.example');
  });

  it('waits for a log that does not answer, or lacks a tile', async () => {
    const known = await cosigned(300);
    log.sign(checkpointText({ origin: 'log.example/log', size: 1_000, root: leafHash('no such tree') }));
    await expect(witness.next(opened(known))).rejects.toMatchObject({ name: 'LogAway' });
    log[Symbol.dispose]();
    await expect(witness.next(opened(known))).rejects.toMatchObject({ name: 'LogAway' });
  });
});

describe('a witness that a log asks', () => {
  let log: ServedLog;
  let witness: Witness;
  beforeEach(async () => {
    log = await ServedLog.start();
    witness = new Witness(new RemoteLog(log.url), log.signer.key, signer, () => NOW);
  });
  afterEach(() => {
    log[Symbol.dispose]();
  });

  /** What the log sends of these entries to a witness that has cosigned the first `old` of them. */
  const posted = async (held: readonly string[], old: number): Promise<AddCheckpoint> => {
    log.hold(held);
    const remote = new RemoteLog(log.url);
    const proof = await readProof(consistencyProof(old, held.length), held.length, remote.tiles);
    return { old, proof, note: await remote.checkpoint() };
  };
  const answered = async (size: number, known?: Checkpoint) =>
    witness.answer(addCheckpointBody(await posted(entries(size), known?.size ?? 0)), known);
  /** Returns why it refuses, with the status of the protocol. */
  const refusal = (request: AddCheckpoint | string, known?: Checkpoint): unknown => {
    try {
      return witness.answer(typeof request === 'string' ? request : addCheckpointBody(request), known);
    } catch (error) {
      return error;
    }
  };

  it('cosigns each checkpoint that is proven to continue the one before, also the same one again', async () => {
    let known: Checkpoint | undefined;
    for (const size of [0, ...SIZES, 600]) {
      const { checkpoint, note, line } = await answered(size, known);
      expect(openNote(note, signer.key)).toMatchObject({ line, time: 1_700_000_000 });
      expect(witness.known(note)).toMatchObject(checkpoint);
      known = checkpoint;
    }
    expect(known?.size).toBe(600);
  });

  it('keeps no signature of anybody else', async () => {
    const request = await posted(entries(3), 0);
    const { note } = witness.answer(
      addCheckpointBody({ ...request, note: `${request.note}— somebody AAAAAAAA\n` }),
      undefined,
    );
    expect(note.split('\n— ')).toHaveLength(3);
  });

  it('refuses each request with the status of the protocol', async () => {
    const { checkpoint: known } = await answered(300);
    const next = await posted(entries(600), 300);
    const text = next.note.slice(0, next.note.indexOf('\n\n') + 1);
    const signedBy = (by: NoteSigner, of = text) => signedNote(of, [by.sign(of)]);
    const stranger = new NoteSigner('log.example/log', Buffer.alloc(32, 9));
    const forged = signedBy(log.signer).replace('\n600\n', '\n601\n');
    for (const [request, status] of [
      ['', 400],
      [{ ...next, note: 'no note' }, 400],
      [{ ...next, note: signedBy(log.signer, 'log.example/log\n1\n') }, 400],
      [{ ...next, old: 601 }, 400],
      [{ ...next, note: signedBy(log.signer, text.replace('log.example', 'other.example')) }, 404],
      [{ ...next, note: signedBy(stranger) }, 403],
      [{ ...next, note: forged }, 403],
      [{ ...next, old: 0, proof: [] }, 409],
      [{ ...next, old: 299 }, 409],
      [{ ...next, proof: [] }, 422],
      [{ ...next, proof: next.proof.toReversed() }, 422],
      [{ ...next, proof: [...next.proof, leafHash('x')] }, 422],
    ] as const)
      expect([request, refusal(request, known)]).toEqual([request, expect.objectContaining({ status })]);
    expect(refusal({ ...next, old: 0, proof: [] }, known)).toMatchObject({ knownSize: 300 });
    expect(refusal(next)).toMatchObject({ status: 409, knownSize: 0 });
    expect(refusal({ ...next, old: 0 })).toMatchObject({ status: 422 });
    expect(refusal({ ...(await posted(entries(300), 300)), proof: [leafHash('x')] }, known)).toMatchObject({
      status: 422,
    });
  });

  it('finds a fork by another root of the same size, and by the tiles of a larger one', async () => {
    const { checkpoint: known } = await answered(300);
    expect(refusal(await posted(entries(300, 299), 300), known)).toMatchObject({ name: 'Fork' });
    const forked = await posted(entries(600, 7), 300);
    expect(refusal(forked, known)).toMatchObject({ status: 422, note: forked.note });
    await expect(witness.compare(known, forked.note)).rejects.toMatchObject({ name: 'Fork', note: forked.note });
    const { note } = await posted(entries(600), 300);
    await witness.compare(known, note);
    await expect(witness.compare(known, forked.note)).rejects.toMatchObject({ name: 'WrongTiles' });
  });
});

describe('the key file of a witness', () => {
  it('is made once, for its owner alone, and read again', () => {
    const file = join(folder, 'witness.key');
    const made = openWitnessKey(file, 'witness.example');
    expect(openWitnessKey(file, 'another').key).toEqual(made.key);
    expect(readFileSync(file, 'utf8')).toMatch(/^PRIVATE\+KEY\+witness\.example\+[0-9a-f]{8}\+B[A-Za-z0-9+/]+=*\n$/);
  });

  it('is refused with any character changed', () => {
    const file = join(folder, 'changed.key');
    openWitnessKey(file, 'witness.example');
    const text = readFileSync(file, 'utf8');
    for (let at = 0; at < text.length; at += 1) {
      writeFileSync(file, `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`);
      expect(() => openWitnessKey(file, 'witness.example')).toThrow('is no key of a witness');
    }
  });
});
