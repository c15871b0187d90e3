import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import type { EventToAppend } from '../../../../shared/event-store/event-store.ts';
import { collections } from '../../../../shared/read-models/catalogue.ts';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { checkpointText } from '../../../../shared/transparency-log/checkpoint.ts';
import { leafOf } from '../../../../shared/transparency-log/leaf-entry.ts';
import { NoteSigner, signedNote } from '../../../../shared/transparency-log/signed-note.ts';
import { StoredLog } from '../../../../shared/transparency-log/stored-log.ts';
import { tilePath, TreeEdge, widthOf, type PlacedTile } from '../../../../shared/transparency-log/tiles.ts';
import { logCommand } from './log.commands.ts';

const folder = temporaryFolder();
const EVENTS = 300;
const CHANGED = 270;
const signer = new NoteSigner('log.example/log', Buffer.alloc(32, 5));
const events = Array.from({ length: EVENTS }, () =>
  anEvent({ type: 'AppRegistered', data: eventExamples.AppRegistered }),
);

/** Makes a data folder with these events, and the log of them as a projector leaves it. */
const folderOf = async (name: string, stored: readonly EventToAppend[], sizes: readonly number[] = []) => {
  const dataDir = join(folder, name);
  mkdirSync(dataDir, { recursive: true });
  const eventStore = new SqliteEventStore(join(dataDir, 'events.db'));
  const readStore = new SqliteReadStore(join(dataDir, 'read.db'));
  await readStore.define(collections);
  await eventStore.append('app-1', -1, stored);
  const batch = await eventStore.readAll(0, undefined, EVENTS);
  const leaves = batch.events.map(leafOf);
  const edge = TreeEdge.empty();
  const tiles: PlacedTile[] = [];
  for (const size of [...sizes, EVENTS]) {
    tiles.push(...edge.append(leaves.slice(edge.size, size)));
    const text = checkpointText({ origin: signer.key.name, size, root: edge.root() });
    writeFileSync(join(dataDir, `${String(size)}.checkpoint`), signedNote(text, [signer.sign(text)]));
  }
  await new StoredLog(readStore).store(
    [...new Map(tiles.map((one) => [tilePath(one), one])).values()],
    { size: edge.size, root: edge.root(), position: batch.position },
    undefined,
  );
  for (const { tile, ...id } of tiles) {
    const file = join(dataDir, 'tile', tilePath(id, widthOf(tile)));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, tile);
  }
  await Promise.all([eventStore.close(), readStore.close()]);
  return dataDir;
};

describe('annals audit log verify', () => {
  let before: string;
  /** An insider has changed an event, and made everything else anew. */
  let after: string;
  beforeAll(async () => {
    before = await folderOf('before', events, [100, 280]);
    const changed = events.with(CHANGED, anEvent({ type: 'AppRevoked', data: eventExamples.AppRevoked }));
    after = await folderOf('after', changed);
  });
  afterEach(() => {
    process.exitCode = undefined;
  });

  const verify = async (DATA_DIR: string, ...args: string[]): Promise<{ text: string; code: unknown }> => {
    process.exitCode = undefined;
    const environment = jest.replaceProperty(process, 'env', { DATA_DIR });
    const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      await logCommand()
        .exitOverride()
        .parseAsync(['verify', ...args], { from: 'user' });
      return { text: write.mock.calls.map(([text]) => String(text)).join(''), code: process.exitCode };
    } finally {
      write.mockRestore();
      environment.restore();
    }
  };
  const keptAt = (size: number) => ['--checkpoint', join(before, `${String(size)}.checkpoint`)];

  it('says that nothing was changed', async () => {
    const { text, code } = await verify(before, ...keptAt(100), ...keptAt(280), '--tiles', before);
    expect(text).toMatch(/^.*100\.checkpoint fits.*\n.*280\.checkpoint fits.*\nwhat is served fits: its 300 leaves/);
    expect(text).toMatch(/\nnothing was changed, removed, added or moved before the largest checkpoint that fits\n/);
    expect(text).toMatch(/\nthe event store has 300 leaves with the root .*\n$/);
    expect((await verify(before)).text).toMatch(/\nas served: whoever can write the stores can write both/);
    expect(code).toBeUndefined();
  });

  it('names the event that was changed, by what is served or by tiles that somebody kept', async () => {
    copyFileSync(join(after, 'events.db'), join(folder, 'events.db'));
    copyFileSync(join(before, 'read.db'), join(folder, 'read.db'));
    for (const args of [[], ['--tiles', before]]) {
      const { text, code } = await verify(args.length > 0 ? after : folder, ...args);
      expect(text).toMatch(/^leaf 270: app-1@270 \(position 271, event [0-9a-f-]{36}\) was changed\n/);
      expect(code).toBe(1);
    }
  });

  it('says between which checkpoints the change is, where everything was made anew', async () => {
    expect(await verify(after, ...keptAt(100))).toMatchObject({ code: undefined });
    const { text, code } = await verify(after, ...keptAt(280), ...keptAt(100));
    expect(text).toMatch(/280\.checkpoint does not fit: its 280 leaves had the root /);
    expect(text).toMatch(/\nthe first change is among leaves 100 to 279, counted from 0\n/);
    expect(code).toBe(1);
    const forMachines = JSON.parse((await verify(after, ...keptAt(280), '--json')).text) as object;
    expect(forMachines).toMatchObject({ verified: false, size: 300, difference: null, failing: [{ size: 280 }] });
  });

  it('says that nothing was compared, where no log is stored', async () => {
    const empty = join(folder, 'empty');
    mkdirSync(empty, { recursive: true });
    await new SqliteEventStore(join(empty, 'events.db')).close();
    const { text, code } = await verify(empty);
    expect([text, code]).toEqual([expect.stringMatching(/^nothing was compared: no log is stored/), 1]);
    await expect(verify(before, '--tiles', join(before, 'tile'))).rejects.toThrow('has no tiles: name the folder');
  });

  it('refuses a checkpoint that is none', async () => {
    writeFileSync(join(folder, 'none'), 'none\n');
    for (const file of [join(folder, 'none'), join(folder, 'missing')])
      await expect(verify(before, '--checkpoint', file)).rejects.toThrow(`${file} is no checkpoint of a log`);
  });
});
