import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonValue } from '../../../../schemas/json.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import { thisVault } from '../../../../shared/host/engines/this-vault.ts';
import { requireOwnVault } from '../../../../shared/key-vault/own-vault.ts';
import { AuditKey } from '../../../../shared/audit/audit-key.ts';
import { exportedItem } from '../../../../schemas/http/account/history.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { collections } from '../../../../shared/read-models/catalogue.ts';
import { hashedMembers } from '../../../../shared/read-models/account/history-line.ts';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { buildLog } from '../../../../shared/testing/project.ts';
import { leafHash } from '../../../../shared/transparency-log/merkle-tree.ts';
import { openLogKey } from '../../../../shared/transparency-log/log-key.ts';
import { NoteSigner, vkeyOf } from '../../../../shared/transparency-log/signed-note.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import { SqliteKeyVault } from '../../../../shared/key-vault/embedded/key-vault.sqlite.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { canonicalJson } from '../../../../shared/primitives/text/canonical-json.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { outerEnvironment } from '../../../../shared/testing/processes/running-process.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';

const folder = temporaryFolder();
const userId = 'usr_1';
/** Far more than a pipe holds. */
const EVENTS = 3_000;
/** These, the identity of the vault, and the key of the log. */
const LEAVES = EVENTS + 2;

interface Ended {
  code: unknown;
  stdout: string;
  stderr: string;
}

describe('annals audit', () => {
  let jwks: string;
  let logKey: string;
  beforeAll(async () => {
    const masterKey = Buffer.alloc(32, 7);
    writeFileSync(join(folder, 'master.key'), masterKey.toString('base64'));
    const eventStore = new SqliteEventStore(join(folder, 'events.db'));
    const keyVault = new SqliteKeyVault(join(folder, 'vault.db'));
    const settings = { DATA_DIR: folder } as Settings;
    await requireOwnVault(thisVault({ eventStore, keyVault }, settings), { makes: true });
    const personalData = personalDataOf({ eventStore, keyVault, masterKey, clock: systemClock });
    const events = Array.from({ length: EVENTS }, (_, at) =>
      anEvent({ type: at === 0 ? 'UserRegistered' : 'ProfileUpdated', data: { userId, changes: { username: 'ada' } } }),
    );
    await eventStore.append('user-usr_1', -1, await Promise.all(events.map((event) => personalData.seal(event))));
    jwks = join(folder, 'jwks.json');
    writeFileSync(jwks, JSON.stringify({ keys: [(await AuditKey.open(personalData.keys)).published] }));
    const readStore = new SqliteReadStore(join(folder, 'read.db'));
    await readStore.define(collections);
    await buildLog({ eventStore, readStore });
    await openLogKey(new Transactor(eventStore, systemClock, systemIds), personalData.keys);
    await buildLog({ eventStore, readStore });
    logKey = vkeyOf(new NoteSigner('127.0.0.1:3000/log', await personalData.keys.logKey()).key);
    await Promise.all([eventStore.close(), keyVault.close(), readStore.close()]);
  });

  const start = (...args: string[]): ChildProcess =>
    spawn(process.execPath, ['dist/services/standalone/annals.js', 'audit', ...args], {
      env: { ...outerEnvironment, DATA_DIR: folder },
    });
  const end = async (child: ChildProcess): Promise<Ended> => {
    const [stdout, stderr, exit] = await Promise.all([
      child.stdout ? text(child.stdout) : '',
      child.stderr ? text(child.stderr) : '',
      once(child, 'exit'),
    ]);
    return { code: (exit as unknown[])[0], stdout, stderr };
  };

  it('exports a history, and verifies a file of it and what is piped to it', async () => {
    const exported = await end(start('export', userId));
    expect(exported).toMatchObject({ code: 0, stderr: '' });
    const file = join(folder, 'history.ndjson');
    writeFileSync(file, exported.stdout);
    const verified = await end(start('verify', file, '--jwks', jwks, '--log-key', logKey));
    expect(verified).toMatchObject({ code: 0, stderr: '' });
    expect(verified.stdout.split('\n')).toEqual([
      `The history of usr_1: ${String(EVENTS)} items, whose lines fit each other.`,
      expect.stringMatching(
        /^The audit key audit-\w+ has signed that this is the history of usr_1, that it has these items/,
      ),
      `Each item is in the tree of a checkpoint of ${String(LEAVES)} events that calls itself 127.0.0.1:3000/log.`,
      "The log's key has signed that checkpoint.",
      expect.stringMatching(/^Not proven: that the log shows the same to everybody\. /),
      'Not proven by the log: that no item was left out. This export shows no seal of all histories.',
      '',
    ]);

    const piped = start('verify', '-', '--jwks', jwks, '--json');
    piped.stdin?.end(readFileSync(file));
    const { code, stdout } = await end(piped);
    const signedBy: unknown = expect.stringMatching(/^audit-/);
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({ proven: true, sub: userId, items: EVENTS, erased: 0, signedBy }),
    ]);

    writeFileSync(file, exported.stdout.replace('ada', 'eve'));
    expect(await end(start('verify', file))).toMatchObject({
      code: 1,
      stdout: `${file}: line 1 was changed: its digest does not match\n`,
    });
    expect(JSON.parse((await end(start('verify', file, '--json'))).stdout)).toEqual({
      proven: false,
      reason: 'line 1 was changed: its digest does not match',
    });
  });

  it('writes the whole log, whose checkpoint and tiles prove an export made later, and whose entries are its leaves', async () => {
    const kept = join(folder, 'kept');
    const written = await end(start('log', 'export', kept, '--json'));
    expect(written).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(written.stdout)).toMatchObject({ origin: '127.0.0.1:3000/log', size: LEAVES });
    const last = Math.floor(LEAVES / 256);
    const width = LEAVES % 256;
    const bundle = readFileSync(join(kept, `tile/entries/${String(last).padStart(3, '0')}.p/${String(width)}`));
    const tile = readFileSync(join(kept, `tile/0/${String(last).padStart(3, '0')}.p/${String(width)}`));
    const leaves: Buffer[] = [];
    for (let at = 0; at < bundle.length; at += 2 + bundle.readUInt16BE(at))
      leaves.push(leafHash(bundle.subarray(at + 2, at + 2 + bundle.readUInt16BE(at))));
    expect(Buffer.concat(leaves).equals(tile)).toBe(true);

    const file = join(folder, 'with-kept.ndjson');
    writeFileSync(file, (await end(start('export', userId))).stdout);
    const checkpoint = join(kept, 'checkpoint');
    const proven = await end(start('verify', file, '--jwks', jwks, '--checkpoint', checkpoint, '--tiles', kept));
    expect(proven).toMatchObject({ code: 0, stdout: expect.stringContaining(`${checkpoint} is of the same tree`) });
    expect(await end(start('log', 'export', kept))).toMatchObject({ code: 0 });
    expect(await end(start('log', 'export', folder))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has other files: name a new folder'),
    });
  });

  it('proves nothing without keys, however well an export is made up', async () => {
    const lines = (await end(start('export', userId))).stdout.trimEnd().split('\n');
    const { signature: _, ...signed } = JSON.parse(lines.at(-1) ?? '') as Record<string, JsonValue>;
    const payload = Buffer.from(canonicalJson(signed)).toString('base64url');
    const file = join(folder, 'made-up.ndjson');
    const last = JSON.stringify({ ...signed, signature: `e30.${payload}.AAAA` });
    writeFileSync(file, `${[...lines.slice(0, -1), last].join('\n')}\n`);
    const reason = 'the signature of the last line was not verified: give --jwks';

    const { code, stdout } = await end(start('verify', file, '--log-key', logKey));
    const whole = `The history of usr_1: ${String(EVENTS)} items, whose lines fit each other.\nNot proven: that this is the history`;
    expect([code, stdout]).toEqual([1, expect.stringContaining(whole)]);
    const json = await end(start('verify', file, '--json'));
    expect([json.code, JSON.parse(json.stdout)]).toEqual([
      1,
      expect.objectContaining({ proven: false, reason, sub: userId, items: EVENTS, signedBy: null }),
    ]);
    expect(await end(start('verify', file, '--jwks', jwks))).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('is not by an audit key of these keys'),
    });
  });

  it('says of a file without keys that it has none, in one line', async () => {
    const notKeys = join(folder, 'notes.txt');
    writeFileSync(notKeys, '');
    expect(await end(start('verify', '-', '--jwks', notKeys))).toEqual({
      code: 1,
      stdout: '',
      stderr: `annals: ${notKeys} has no keys as /.well-known/jwks.json answers them\n`,
    });
  });

  it('says of an export of the first format what it does not prove', async () => {
    const exported = (await end(start('export', userId))).stdout.trimEnd().split('\n').slice(0, -1);
    const lines = exported.map((line) => JSON.stringify(hashedMembers(exportedItem.parse(JSON.parse(line)))));
    const { hash } = JSON.parse(lines.at(-1) ?? '') as { hash: string };
    const payload = Buffer.from(hash).toString('base64url');
    const former = start('verify', '-');
    former.stdin?.end(`${lines.join('\n')}\n${JSON.stringify({ previous: hash, signature: `e30.${payload}.AAAA` })}\n`);
    expect((await end(former)).stdout).toContain(
      `A history of ${String(EVENTS)} items, whose lines fit each other.\nNot proven: the hash of the last item. It is an export of ` +
        'the first format: the signature says neither whose history it is, nor how many items it has, nor until when.',
    );
  });

  it.each([
    ['a key that is none', ['--log-key', 'x'], '"x" is no key of a log or witness'],
    ["a log's key as a witness's", ['--witness', 'LOG'], 'is not the key of a witness'],
    ['tiles from two places', ['--tiles', 'x', '--log', 'http://a/log'], 'give --tiles or --log, not both'],
    ['an address of no log', ['--log', 'http://a/', '--checkpoint', 'x'], 'that ends in /log'],
    ['tiles that are compared with nothing', ['--tiles', 'x'], 'give --checkpoint too'],
  ])('is refused with %s', async (_, args, reason) => {
    const refused = await end(start('verify', '-', ...args.map((arg) => (arg === 'LOG' ? logKey : arg))));
    expect(refused).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(reason) });
  });

  it('refuses to export the history of a user who is not there', async () => {
    expect(await end(start('export', 'nobody'))).toEqual({
      code: 1,
      stdout: '',
      stderr: 'annals: no user has this id\n',
    });
  });

  it('ends without an error when its reader has read enough', async () => {
    const child = start('export', userId);
    child.stdout?.once('data', () => child.stdout?.destroy());
    const stderr = child.stderr ? text(child.stderr) : '';
    const [code] = (await once(child, 'exit')) as [unknown];
    expect([code, await stderr]).toEqual([0, '']);
  });
});
