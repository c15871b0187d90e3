import { describe, expect, it } from '@jest/globals';
import { leafHash } from '../merkle-tree.ts';
import { addCheckpointBody, parseAddCheckpoint, parseSizeBody, sizeBody } from './add-checkpoint.ts';

const NOTE = 'log.example/log\n2\nAAAA\n\n— log.example/log AAAAAAAA\n';
const hash = (at: number) => leafHash(String(at));
const line = hash(0).toString('base64');

describe('a request to cosign', () => {
  it('is read as it is written', () => {
    for (const [old, hashes] of [
      [0, 0],
      [1, 1],
      [2 ** 52, 63],
    ] as const) {
      const proof = Array.from({ length: hashes }, (_, at) => hash(at));
      expect(parseAddCheckpoint(addCheckpointBody({ old, proof, note: NOTE }))).toEqual({ old, proof, note: NOTE });
    }
    expect(addCheckpointBody({ old: 7, proof: [hash(0)], note: NOTE })).toBe(`old 7\n${line}\n\n${NOTE}`);
  });

  it.each([
    ['nothing', ''],
    ['a checkpoint alone', NOTE],
    ['no empty line', 'old 0\n'],
    ['a size that begins with 0', `old 00\n\n${NOTE}`],
    ['a negative size', `old -1\n\n${NOTE}`],
    ['a size that is no number', `old x\n\n${NOTE}`],
    ['a size beyond 2^53', `old 9007199254740993\n\n${NOTE}`],
    ['no size', `old \n\n${NOTE}`],
    ['two spaces', `old  1\n\n${NOTE}`],
    ['a hash that is too short', `old 1\nAAAA\n\n${NOTE}`],
    ['a hash that is not base64', `old 1\n${line.replace(/./, '!')}\n\n${NOTE}`],
    ['a hash with something after it', `old 1\n${line} \n\n${NOTE}`],
    ['lines that end as on Windows', `old 1\r\n${line}\r\n\r\n${NOTE}`],
    ['64 hashes', `old 1\n${`${line}\n`.repeat(64)}\n${NOTE}`],
  ])('is refused with %s', (_, body) => {
    expect(() => parseAddCheckpoint(body)).toThrow(expect.objectContaining({ name: 'NotANote' }));
  });
});

describe('the size that a witness has cosigned', () => {
  it('is read as it is written, and nothing else is', () => {
    for (const size of [0, 1, 2 ** 53 - 1]) expect(parseSizeBody(sizeBody(size))).toBe(size);
    for (const body of [
      '',
      '1',
      '01\n',
      '-1\n',
      '1\n\n',
      ' 1\n',
      '1e3\n',
      '9007199254740993\n',
      '99999999999999999999\n',
    ])
      expect(parseSizeBody(body)).toBeUndefined();
  });
});
