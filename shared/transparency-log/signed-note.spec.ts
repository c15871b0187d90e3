import { describe, expect, it } from '@jest/globals';
import { checkpointText, parseCheckpoint } from './checkpoint.ts';
import { leafHash } from './merkle-tree.ts';
import {
  COSIGNATURE,
  noteKey,
  NoteSigner,
  NotANote,
  openNote,
  parseNote,
  parseVkey,
  signedNote,
  vkeyOf,
} from './signed-note.ts';

/** The example of C2SP signed-note, which Go's golang.org/x/mod/sumdb/note verifies too. */
const GO = {
  vkey: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  note:
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n" +
    '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n',
};
const TIME = 1_700_000_000;
const signer = new NoteSigner('annals.example/log', Buffer.alloc(32, 1));
const witness = new NoteSigner('witness.example', Buffer.alloc(32, 2), COSIGNATURE);
const checkpoint = { origin: 'annals.example/log', size: 3, root: leafHash('root') };
const text = checkpointText(checkpoint);
const note = signedNote(text, [signer.sign(text), witness.sign(text, TIME)]);

describe('a signed note', () => {
  it('of Go is read, and its key', () => {
    const key = parseVkey(GO.vkey);
    expect([key.name, vkeyOf(key)]).toEqual(['PeterNeumann', GO.vkey]);
    expect(openNote(GO.note, key)?.text).toBe(GO.note.slice(0, GO.note.indexOf('\n\n') + 1));
  });

  it('is opened with the key of each that signed it, and says when a witness did', () => {
    expect(openNote(note, signer.key)).toEqual({ text, line: signer.sign(text), time: undefined });
    expect(openNote(note, witness.key)).toEqual({ text, line: witness.sign(text, TIME), time: TIME });
    expect(openNote(signedNote(text, [signer.sign(text)]), witness.key)).toBeUndefined();
    expect(parseCheckpoint(openNote(note, signer.key)?.text ?? '')).toEqual(checkpoint);
  });

  it('is opened with no other key of the same name', () => {
    expect(openNote(note, new NoteSigner('annals.example/log', Buffer.alloc(32, 3)).key)).toBeUndefined();
    expect(openNote(note, noteKey('witness.example', witness.key.publicKey))).toBeUndefined();
  });

  it('is refused with any byte changed', () => {
    const opened = (changed: string) => {
      try {
        return [signer, witness].map(({ key }) => openNote(changed, key)?.text);
      } catch (error) {
        if (error instanceof NotANote) return [];
        throw error;
      }
    };
    for (let at = 0; at < note.length; at += 1) {
      for (const other of ['A', 'B', '\n', '\u0000']) {
        if (note[at] === other) continue;
        const both = opened(note.slice(0, at) + other + note.slice(at + 1));
        // A changed line of one signature leaves the other one as it is.
        expect(both.filter((one) => one !== undefined && one !== text)).toEqual([]);
        expect(both.filter((one) => one === text).length).toBeLessThan(2);
      }
    }
  });

  it.each([
    ['', 'no empty line'],
    ['text\n', 'no empty line'],
    ['text\n\n', 'no line of a signature'],
    ['text\n\n— name', 'one that was cut'],
    ['te\u0007xt\n\n— name AAAAAAAA\n', 'control characters'],
    ['text\n\n— na\u0001me AAAAAAAA\n', 'control characters'],
    ['text\ud800\n\n— name AAAAAAAA\n', 'is no text'],
    ['text\n\n— na\u0085me AAAAAAAA\n', 'not the line of a signature'],
    ['text\n\nname AAAAAAAA\n', 'not the line of a signature'],
    ['text\n\n— na+me AAAAAAAA\n', 'not the line of a signature'],
    ['text\n\n— name AAAA\n', 'not the line of a signature'],
    ['text\n\n— name AAAAAAB\n', 'not the line of a signature'],
    [`text\n\n${'— name AAAAAAAA\n'.repeat(101)}`, 'more than 100 signatures'],
  ])('is not %j', (wrong, reason) => {
    expect(() => parseNote(wrong)).toThrow(reason);
  });
});

describe('the key of a note', () => {
  it.each([
    '',
    'name',
    'name+00000000+AQ==',
    GO.vkey.replace('c74f20a3', 'c74f20a4'),
    GO.vkey.replace('PeterNeumann', 'Peter Neumann'),
    GO.vkey.replace('+ARpc', '+AxpC'),
    `${GO.vkey}=`,
    ` ${GO.vkey}`,
  ])('is not %j', (wrong) => {
    expect(() => parseVkey(wrong)).toThrow(NotANote);
  });
});

describe('a checkpoint', () => {
  it('may have extensions', () => {
    expect(parseCheckpoint(`${text}extension\n`)).toEqual(checkpoint);
  });

  it.each([
    ['no root', 'origin\n3\n'],
    ['no origin', text.slice(text.indexOf('\n'))],
    ['a size with a zero before it', text.replace('\n3\n', '\n03\n')],
    ['a size below 0', text.replace('\n3\n', '\n-1\n')],
    ['a size that is no number', text.replace('\n3\n', '\n3e0\n')],
    ['a short root', 'origin\n3\nAAAA\n'],
    ['a cut end', text.slice(0, -1)],
    ['another root than the empty tree has', text.replace('\n3\n', '\n0\n')],
    ['an empty extension', `${text}\n`],
  ])('is refused with %s', (_, wrong) => {
    expect(() => parseCheckpoint(wrong)).toThrow(NotANote);
  });
});
