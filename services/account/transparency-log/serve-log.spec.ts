import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../shared/testing/eventually.ts';
import { codeOf } from '../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { parseCheckpoint } from '../../../shared/transparency-log/checkpoint.ts';
import { EMPTY_ROOT, inclusionProof, rootByInclusion } from '../../../shared/transparency-log/merkle-tree.ts';
import { leafOf } from '../../../shared/transparency-log/leaf-entry.ts';
import { RemoteLog } from '../../../shared/transparency-log/remote-log.ts';
import { openNote, parseVkey } from '../../../shared/transparency-log/signed-note.ts';
import { readProof } from '../../../shared/transparency-log/tiles.ts';
import { isLasting } from '../../../shared/event-store/permanent-streams.ts';
import { logLoop } from '../../projector/build-transparency-log/log-loop.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../testing/account-under-test.ethers.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 5_000;

describe('the log over HTTP', () => {
  let account: AccountUnderTest;
  beforeEach(async () => {
    account = await startAccountUnderTest(folder, { ACCOUNT_URL: 'https://account.example' });
  });
  afterEach(() => account[Symbol.asyncDispose]());

  const textOf = async (path: string): Promise<string> => {
    const answer = await account.ask(path);
    expect([path, answer.status]).toEqual([path, 200]);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    return answer.text();
  };
  const checkpoint = async () => {
    const opened = openNote(await textOf('/log/checkpoint'), parseVkey(await textOf('/log/key')));
    return parseCheckpoint(opened?.text ?? '');
  };
  const bytesOf = async (path: string): Promise<Buffer> => {
    const answer = await account.ask(`/log/tile/${path}`);
    expect([path, answer.status, answer.headers.get('content-type')]).toEqual([path, 200, 'application/octet-stream']);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    return Buffer.from(await answer.arrayBuffer());
  };

  it('begins empty, and is signed by a key that is named after where it is served', async () => {
    expect(await checkpoint()).toEqual({ origin: 'account.example/log', size: 0, root: EMPTY_ROOT });
    expect(await textOf('/log/key')).toMatch(/^account\.example\/log\+/);
    expect(await account.typesOf('log')).toEqual(['LogKeyMade']);
  });

  it('has a leaf for each event that lasts, a second after it was appended, which its tiles prove', async () => {
    const { eventStore, readStore, logger } = account.foundation;
    const { loop } = logLoop({ eventStore, readStore, logger });
    loop.start();
    await account.logIn(account.newWallet());
    const { events } = await eventStore.readAll(0, undefined, 1_000);
    const leaves = events.filter(({ stream }) => isLasting(stream)).map(leafOf);
    const isThere = async () => (await checkpoint()).size === leaves.length;
    await eventually(isThere, HAPPENS_WITHIN_MS, 'the checkpoint must have every leaf');
    await loop.stop();
    const { size, root } = await checkpoint();
    const served = new RemoteLog(`${account.service.url}/log`);
    for (const [index, leaf] of leaves.entries()) {
      const proof = await readProof(inclusionProof(index, size), size, served.tiles);
      expect(rootByInclusion(leaf, { index, size }, proof)).toEqual(root);
    }
    expect((await bytesOf('0/000.p/2')).length).toBe(64);
    for (const missing of ['0/000', `0/000.p/${String(size + 1)}`, '0/001.p/1', '1/000.p/1']) {
      const answer = await account.ask(`/log/tile/${missing}`);
      expect([answer.headers.get('cache-control'), await codeOf(answer)]).toEqual(['no-store', 'route_not_found']);
    }
  });

  it.each(['7/000', '0/0', '0/000.p/0', '0/000/', '0/000.p', '-1/000', '0/000.p/2/3'])(
    'has no tile at %s',
    async (path) => {
      expect(await codeOf(await account.ask(`/log/tile/${path}`))).toBe('validation_failed');
    },
  );
});
