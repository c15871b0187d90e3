import { existsSync, mkdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { exclusively } from './exclusive.mjs';

const folder = temporaryFolder();

describe('work under a lock', () => {
  it('is done by one process at a time', async () => {
    const lock = join(folder, 'contended');
    let [inside, most, waited] = [0, 0, 0];
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await setImmediate();
      inside -= 1;
    };
    const onWait = () => {
      waited += 1;
    };
    await Promise.all([1, 2, 3].map(() => exclusively({ lock, onWait }, work)));
    expect({ most, waited }).toEqual({ most: 1, waited: 2 });
    expect(existsSync(lock)).toBe(false);
  });

  it('frees the lock when it fails', async () => {
    const lock = join(folder, 'failed');
    const failing = exclusively({ lock, onWait: () => undefined }, () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(existsSync(lock)).toBe(false);
  });

  it('takes over a lock whose holder has crashed', async () => {
    const lock = join(folder, 'left-behind');
    mkdirSync(lock);
    utimesSync(lock, new Date(0), new Date(0));
    await expect(exclusively({ lock, onWait: () => undefined }, () => Promise.resolve('done'))).resolves.toBe('done');
  });
});
