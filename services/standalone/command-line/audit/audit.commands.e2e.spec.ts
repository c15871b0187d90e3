import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonValue } from '../../../../schemas/json.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import { thisVault } from '../../../../shared/host/this-vault.ts';
import { requireOwnVault } from '../../../../shared/key-vault/own-vault.ts';
import { AuditKey } from '../../../../shared/audit/audit-key.jose.ts';
import { SqliteEventStore } from '../../../../shared/event-store/event-store.sqlite.ts';
import { SqliteKeyVault } from '../../../../shared/key-vault/key-vault.sqlite.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { canonicalJson } from '../../../../shared/primitives/canonical-json.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';

const folder = temporaryFolder();
const userId = 'usr_1';
/** Far more than a pipe holds. */
const EVENTS = 3_000;

interface Ended {
  code: unknown;
  stdout: string;
  stderr: string;
}

describe('annals audit', () => {
  let jwks: string;
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
    await Promise.all([eventStore.close(), keyVault.close()]);
  });

  const start = (...args: string[]): ChildProcess =>
    spawn(process.execPath, ['dist/services/standalone/annals.js', 'audit', ...args], {
      env: { PATH: process.env['PATH'], DATA_DIR: folder },
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
    const whose = `the history of usr_1: ${String(EVENTS)} items, whole and in order; all up to position`;
    const verified = await end(start('verify', file, '--jwks', jwks));
    expect(verified).toEqual({ code: 0, stdout: expect.stringContaining(whose), stderr: '' });
    expect(verified.stdout).toContain('; signed by the audit key audit-');

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
      stdout: `${file}: line 1 was changed: its digest is another\n`,
    });
    expect(JSON.parse((await end(start('verify', file, '--json'))).stdout)).toEqual({
      proven: false,
      reason: 'line 1 was changed: its digest is another',
    });
  });

  it('proves nothing without keys, however well an export is made up', async () => {
    const lines = (await end(start('export', userId))).stdout.trimEnd().split('\n');
    const { signature: _, ...signed } = JSON.parse(lines.at(-1) ?? '') as Record<string, JsonValue>;
    const payload = Buffer.from(canonicalJson(signed)).toString('base64url');
    const file = join(folder, 'made-up.ndjson');
    const last = JSON.stringify({ ...signed, signature: `e30.${payload}.AAAA` });
    writeFileSync(file, `${[...lines.slice(0, -1), last].join('\n')}\n`);
    const reason = 'the signature was not verified: give --jwks';

    const { code, stdout } = await end(start('verify', file));
    const whole = `not proven: ${reason}; the history of usr_1: ${String(EVENTS)} items, whole and in order; all up`;
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

  it('says of an export of the former form what it does not prove', async () => {
    const lines = (await end(start('export', userId))).stdout.trimEnd().split('\n').slice(0, -1);
    const { hash } = JSON.parse(lines.at(-1) ?? '') as { hash: string };
    const payload = Buffer.from(hash).toString('base64url');
    const former = start('verify', '-');
    former.stdin?.end(`${lines.join('\n')}\n${JSON.stringify({ previous: hash, signature: `e30.${payload}.AAAA` })}\n`);
    expect((await end(former)).stdout).toBe(
      `not proven: the signature was not verified: give --jwks; a history of ${String(EVENTS)} items, whole and in order; ` +
        'an export of the former form: its signature says neither whose history it is, nor how many items it has, nor until when\n',
    );
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
