import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { WriteStream } from 'node:tty';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import type { EventToAppend } from '../../../../shared/event-store/event-store.ts';
import { thisVault } from '../../../../shared/host/engines/this-vault.ts';
import { SqliteKeyVault } from '../../../../shared/key-vault/embedded/key-vault.sqlite.ts';
import { requireOwnVault } from '../../../../shared/key-vault/own-vault.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { runAnnals } from '../../testing/run-annals.ts';
import { itemText } from './life-text.ts';
import { showCommand } from './show.command.ts';
import { quoted, whatHappened } from './history-words.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';

const DATA_DIR = temporaryFolder();
const userId = 'usr_1';
const transactionId = 'tx_1';
const at = (second: number) => Date.parse('2026-01-02T03:04:00Z') + second * 1_000;
const hash = (digit: string) => `0x${digit.repeat(64)}`;

const happened = (second: number, type: keyof typeof eventExamples, data: JsonObject): EventToAppend => {
  const event = anEvent({ type, data: { ...eventExamples[type], ...data }, time: at(second) });
  const actor = { type: 'user', id: userId } as const;
  return { ...event, metadata: { correlationId: `request-${String(second)}`, actor, app: 'app_1', session: 'ses_1' } };
};

/** Stores the life of one account, and of one that was erased, as the services do. */
const storeLives = async (): Promise<void> => {
  const masterKey = Buffer.alloc(32, 7);
  writeFileSync(join(DATA_DIR, 'master.key'), masterKey.toString('base64'));
  const eventStore = new SqliteEventStore(join(DATA_DIR, 'events.db'));
  const keyVault = new SqliteKeyVault(join(DATA_DIR, 'vault.db'));
  await requireOwnVault(thisVault({ eventStore, keyVault }, { DATA_DIR } as Settings), { makes: true });
  const personalData = personalDataOf({ eventStore, keyVault, masterKey, clock: systemClock });
  const append = async (stream: string, ...events: EventToAppend[]): Promise<void> => {
    const revision = (await eventStore.read(stream)).length - 1;
    await eventStore.append(stream, revision, await Promise.all(events.map((event) => personalData.seal(event))));
  };
  const identityId = 'idn_1';
  await append(
    'user-usr_1',
    happened(0, 'UserRegistered', { userId }),
    happened(0, 'IdentityLinked', { userId, identityId, method: 'email', label: 'ada@example.org' }),
    happened(1, 'UserLoggedIn', { userId, identityId, method: 'email', appId: 'app_1', sessionId: 'ses_1' }),
  );
  await append('session-ses_1', happened(1, 'SessionStarted', { userId, sessionId: 'ses_1', device: 'curl\u009b' }));
  await append('user-usr_1', happened(10, 'ProfileUpdated', { userId, changes: { username: 'Ada' } }));
  const included = { userId, transactionId, userOpHash: hash('a'), transactionHash: hash('b'), chainId: 2484 };
  await append(
    'transaction-tx_1',
    happened(20, 'TxSubmitted', { userId, transactionId, userOpHash: hash('a'), chainId: 2484, sponsor: true }),
    happened(21, 'TxIncluded', { ...included, blockNumber: 7, actualGasCostWei: '42', deployed: true }),
  );
  await append(
    'user-usr_2',
    happened(30, 'UserRegistered', { userId: 'usr_2' }),
    happened(31, 'ProfileUpdated', { userId: 'usr_2', changes: { username: 'Eve' } }),
    happened(32, 'UserErased', { userId: 'usr_2' }),
  );
  await Promise.all([eventStore.close(), keyVault.close()]);
};

const show = (...args: string[]) => runAnnals(DATA_DIR, showCommand(), 'user', ...args);
const iso = (second: number) => new Date(at(second)).toISOString();

describe('annals audit show user', () => {
  beforeAll(storeLives);

  it('shows an account, and what happened to it in words', async () => {
    const { code, stdout } = await show(userId);
    const lines = stdout.split('\n');
    expect([code, lines[0]]).toEqual([undefined, 'usr_1 as of now']);
    expect(lines).toContain('  username              "Ada"');
    expect(lines).toContain(`  login                 email "ada@example.org", since ${iso(0)}`);
    const timeline = lines.slice(lines.indexOf('') + 1, -1);
    const through = (request: number, position: number) =>
      `                          app app_1, session ses_1, request request-${String(request)}, position ${String(position)}`;
    const first = Number(/position (\d+)/.exec(timeline[1] ?? '')?.[1]);
    const operation = `tx_1 on chain 2484`;
    expect(timeline).toEqual([
      `${iso(0)}  the account was made`,
      through(0, first),
      `${iso(0)}  a login method was linked: email "ada@example.org"`,
      through(0, first + 1),
      `${iso(1)}  logged in: by email`,
      through(1, first + 2),
      String.raw`${iso(1)}  a session began: on "curl\u{9b}"`,
      through(1, first + 3),
      `${iso(10)}  changed the profile: username "Ada"`,
      through(10, first + 4),
      `${iso(20)}  sent a transaction: ${operation}, operation ${hash('a')}, sponsored`,
      through(20, first + 5),
      `${iso(21)}  a transaction was included: ${operation}, in block 7 by ${hash('b')}, for 42 wei`,
      through(21, first + 6),
    ]);
  });

  it('shows it as it was, by time or position', async () => {
    const { stdout } = await show(userId, '--as-of', iso(9));
    expect(stdout).toMatch(/^usr_1 as of 2026-01-02T03:04:09\.000Z\n/);
    expect(stdout).not.toContain('Ada');
    expect(stdout).toMatch(/a session began: .*\n.* position (\d+)\n$/);
    const position = Number(/position (\d+)\n$/.exec(stdout)?.[1]);
    const then = JSON.parse((await show(userId, '--as-of', String(position + 1), '--json')).stdout) as object;
    expect(then).toMatchObject({ user: { id: userId, username: 'Ada' }, erasedAt: null, asOf: position + 1 });
    expect(await show(userId, '--as-of', '1')).toMatchObject({
      code: 1,
      stderr: 'annals: no user had the id usr_1 then\n',
    });
  });

  it('gives machines the items', async () => {
    const told = JSON.parse((await show(userId, '--json')).stdout) as { items: object[] };
    expect(told).toMatchObject({ user: { id: userId, username: 'Ada' }, erasedAt: null, asOf: null });
    expect(told.items).toHaveLength(7);
    expect(told.items[4]).toEqual({
      ...{ type: 'ProfileUpdated', time: iso(10), actor: { type: 'user', id: userId } },
      ...{ app: 'app_1', session: 'ses_1', requestId: 'request-10', position: expect.any(Number) },
      data: { userId, changes: { username: 'Ada' } },
    });
  });

  it('says that an account was erased, and shows nothing of its data', async () => {
    const { code, stdout } = await show('usr_2');
    const erased = `usr_2 was erased at ${iso(32)}: nobody can read its personal data any more.`;
    expect([code, stdout.split('\n')[0]]).toEqual([undefined, `${erased} What remains of its history:`]);
    expect(stdout).toContain(`${iso(31)}  changed the profile\n`);
    const told = JSON.parse((await show('usr_2', '--json')).stdout) as { items: object[] };
    expect(told).toMatchObject({
      user: null,
      erasedAt: iso(32),
      items: [{ data: null }, { data: null }, { data: null }],
    });
  });

  it.each([
    [['nobody'], 1, /^annals: no user has the id nobody\n$/],
    [[userId, '--as-of', '2199-01-01'], 2, /--as-of is in the future/],
    [[userId, '--as-of', String(at(9))], 2, /--as-of is a position after the newest event, .* as ISO 8601 says/],
    [[userId, '--as-of', 'noon'], 2, /It is neither a position nor an ISO 8601 time/],
  ])('refuses %j with exit code %i', async (args, code, message) => {
    const refused = await show(...args);
    expect([refused.code, refused.stdout]).toEqual([code, '']);
    expect(refused.stderr).toMatch(message);
  });

  it('colours a terminal, and nothing else', () => {
    const [type, time, requestId] = ['UserErased', iso(0), 'request-1'];
    const item = { type, time, requestId, actor: { type: 'admin', id: 'cli' } as const, data: {}, position: 1 };
    // As that of a terminal, but with the environment of the test.
    const getColorDepth = () => WriteStream.prototype.getColorDepth(process.env);
    const text = (isTTY: boolean) => {
      const output = Object.assign(new PassThrough(), { isTTY, getColorDepth });
      return itemText(userId, { ...item, app: null, session: null }, output);
    };
    expect(text(false)).toMatch(/^2026\S+ {2}the account was erased\n +by admin cli, request request-1, position 1\n$/);
    const environment = jest.replaceProperty(process, 'env', { TERM: 'xterm-256color' });
    expect(text(true)).toContain('\u001b[2m2026');
    process.env['NO_COLOR'] = '1';
    expect(text(true)).not.toContain('\u001b');
    environment.restore();
  });

  it('has words for each event, and quotes what could change a terminal', () => {
    expect(whatHappened('SessionRevoked', { ...eventExamples.SessionRevoked, reason: 'ended_by_user' })).toBe(
      'a session ended: ended by user',
    );
    expect(whatHappened('UnknownYet', {})).toBe('UnknownYet');
    expect(quoted('a\u001b[31m\u{e0001}é')).toBe(String.raw`"a\u001b[31m\u{e0001}é"`);
  });
});
