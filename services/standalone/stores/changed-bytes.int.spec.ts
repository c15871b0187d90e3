import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { allTopics, topics } from '../../../schemas/topics.ts';
import { pino } from 'pino';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { SqliteEventStore } from '../../../shared/event-store/embedded/event-store.sqlite.ts';
import { closeEngines, openEngines, type EngineName, type Engines } from '../../../shared/host/engines/engines.ts';
import { SqliteKeyVault } from '../../../shared/key-vault/embedded/key-vault.sqlite.ts';
import { SqliteMessageBus } from '../../../shared/message-bus/embedded/message-bus.sqlite.ts';
import { collections } from '../../../shared/read-models/catalogue.ts';
import { SqliteReadStore } from '../../../shared/read-store/embedded/read-store.sqlite.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { SeededRandom } from '../../../shared/testing/simulation/seeded-random.ts';
import { inSimulatedTime } from '../../../shared/testing/simulation/simulated-globals.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';

const BYTES = Number(process.env['BYTES'] ?? 60);
const SEED = Number(process.env['SEED'] ?? 7);
/** Simulated time after which messages that are missing are given up. */
const EVERYTHING_WITHIN_MS = 5_000;
if (!Number.isInteger(BYTES) || BYTES < 1) throw new Error('BYTES must be a number of bytes to change in each file');
const TEST_MS = 240_000 + BYTES * 500;
const folder = temporaryFolder();

interface Store {
  file: string;
  /** Makes the file. */
  fill: (file: string) => Promise<void>;
  engine: EngineName;
  /** Returns what reads all that others are answered of it. */
  asks: (engines: Engines) => (() => Promise<unknown>)[];
}

const users = Array.from({ length: 40 }, (_, at) => `usr_${String(at)}`);
const some = (count: number, amount: string) =>
  Array.from({ length: count }, (_, at) =>
    anEvent({ data: { amount: `${amount}${String(at)}`, note: 'x'.repeat(80) } }),
  );

const events: Store = {
  file: 'events.db',
  fill: async (file) => {
    const store = new SqliteEventStore(file);
    for (const user of users) await store.append(`user-${user}`, -1, some(3, user));
    for (const contract of ['1', '2', '3']) await store.append(`chain-1-0x${contract}`, -1, some(30, contract));
    await store.close();
  },
  engine: 'eventStore',
  asks: ({ eventStore: store }) => {
    const told = (found: readonly { dataText: string; position: number; id: string; metadata: unknown }[]) =>
      found.map(({ dataText, position, id, metadata }) => ({ dataText, position, id, metadata }));
    const streams = [...users.map((user) => `user-${user}`), ...['1', '2', '3'].map((one) => `chain-1-0x${one}`)];
    return [
      async () => told((await store.readAll(0, undefined, 1_000)).events),
      ...streams.flatMap((stream) => [
        async () => told(await store.read(stream)),
        async () => told(await store.read(stream, { direction: 'backwards', limit: 2 })),
      ]),
    ];
  },
};

const documents: Store = {
  file: 'read.db',
  fill: async (file) => {
    const store = new SqliteReadStore(file);
    await store.define(collections);
    const changes = users.map((id, at) => ({
      ...{ collection: SESSIONS, id, position: at + 1 },
      document: {
        id,
        userId: `of ${id}`,
        lastUsedAt: `2026-01-${String(at)}`,
        device: `Browser ${id}`,
        revokedAt: null,
      },
    }));
    const event = { id: 'e', stream: 'user-usr_1', revision: 2, position: users.length };
    await store.apply(SESSIONS, changes, users.length, event);
    await store.close();
  },
  engine: 'readStore',
  asks: ({ readStore: store }) => {
    return [
      () => store.position(SESSIONS),
      async () => [...(await store.checkpoints())],
      ...users.flatMap((id) => [
        async () => [...(await store.getMany(SESSIONS, [id]))],
        () => store.find(SESSIONS, { filter: { userId: `of ${id}` }, sort: [['lastUsedAt', 'desc']] }),
      ]),
    ];
  },
};
const SESSIONS = collections.find(({ name }) => name.startsWith('sessions-'))?.name ?? '';

const messages: Store = {
  file: 'bus.db',
  fill: async (file) => {
    const bus = new SqliteMessageBus(file);
    await bus.createTopics(allTopics);
    for (let round = 0; round < 20; round += 1)
      await bus.publish(
        topics.chainEvents,
        users.slice(0, 1 + (round % 7)).map((key) => {
          const headers = { ce_id: `${key} ${String(round)}`, ce_type: 'annals.Happened.v1' };
          return { key, headers, value: `{"amount":"${String(round)}"}`, timestamp: round };
        }),
      );
    await bus.close();
  },
  engine: 'messageBus',
  asks: ({ messageBus: bus }) => {
    const everything = async () => {
      const stop = new AbortController();
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(EVERYTHING_WITHIN_MS)]);
      const [from, ends] = [
        await bus.offsets(topics.chainEvents, 'earliest'),
        await bus.offsets(topics.chainEvents, 'latest'),
      ];
      const left = new Set(
        [...ends].filter(([partition, end]) => from.get(partition) !== end).map(([partition]) => partition),
      );
      const found: unknown[] = [];
      for await (const batch of bus.consume(topics.chainEvents, from, signal)) {
        found.push(...batch.messages);
        if (Number(batch.messages.at(-1)?.offset) + 1 >= Number(ends.get(batch.partition)))
          left.delete(batch.partition);
        if (left.size === 0) stop.abort();
      }
      return found.map((message) => JSON.stringify(message)).sort();
    };
    // In simulated time, because the time limit is reached at once when nothing more can be read, and never before.
    return [() => inSimulatedTime(everything)];
  },
};

const keys: Store = {
  file: 'vault.db',
  fill: async (file) => {
    const vault = new SqliteKeyVault(file);
    await vault.identify({ vaultId: 'this one', check: 'sealed', isRewrapping: false }, undefined);
    await vault.add(
      users.map((id) => ({ id: `data-${id}`, sealed: `sealed of ${id}`, createdAt: '2026-01-02T03:04:05.678Z' })),
      'sealed',
    );
    await vault.destroy('data-usr_1', '2026-01-03T03:04:05.678Z');
    await vault.close();
  },
  engine: 'keyVault',
  asks: ({ keyVault: vault }) => [
    () => vault.identity(),
    ...users.map((id) => async () => [...(await vault.get([`data-${id}`]))]),
  ],
};

/** Changes all values of one column. */
const changed = (file: string, table: string, column: string): void => {
  const database = new DatabaseSync(file);
  const other = `CASE typeof("${column}") WHEN 'integer' THEN "${column}" + 1000000
    WHEN 'text' THEN "${column}" || 'x' ELSE CAST("${column}" || 'x' AS BLOB) END`;
  database.exec(`PRAGMA ignore_check_constraints = ON;
    UPDATE "${table}" SET "${column}" = ${other} WHERE "${column}" IS NOT NULL`);
  database.close();
};

/** Every column of every table that has rows, but for those with an index: the disk changes one of both, which SQLite sees. */
const columnsOf = (file: string): [table: string, column: string][] => {
  const database = new DatabaseSync(file, { readOnly: true });
  const columns = database
    .prepare(
      `SELECT t.name AS name, c.name AS column FROM sqlite_schema t, pragma_table_info(t.name) c
       WHERE t.type = 'table' AND c.name NOT IN
         (SELECT i.name FROM pragma_index_list(t.name) l, pragma_index_info(l.name) i WHERE l.origin = 'c')`,
    )
    .all()
    .map(({ name, column }): [string, string] => [String(name), String(column)])
    .filter(([table]) => database.prepare(`SELECT 1 FROM "${table}"`).get() !== undefined);
  database.close();
  return columns;
};

describe.each([events, documents, messages, keys])('a changed byte in $file', ({ file, fill, engine, asks }) => {
  /** What is answered, or why nothing is; and the lines that say so. */
  const answersOf = async (path: string): Promise<{ answers: string[]; lines: string[] }> => {
    const lines: string[] = [];
    const refused = (error: unknown) => {
      lines.push(String(error));
      return 'refused';
    };
    const logger = pino({ level: 'error' }, { write: (line: string) => lines.push(line) });
    try {
      const { settings } = loadSettings({ DATA_DIR: dirname(path) });
      const engines = (await openEngines(settings, logger, [engine])) as Engines;
      const answers: string[] = [];
      for (const ask of asks(engines)) answers.push(await ask().then((answer) => JSON.stringify(answer), refused));
      await closeEngines(engines);
      return { answers, lines };
    } catch (error) {
      refused(error);
      return { answers: [], lines };
    }
  };

  const original = join(folder, file);
  let expected: readonly string[];
  beforeAll(async () => {
    await fill(original);
    expected = (await answersOf(original)).answers;
    expect(expected).not.toContain('refused');
  }, TEST_MS);

  let copies = 0;
  /** What is answered of a copy that this makes, where it is not what was stored and nobody says so; else nothing. */
  const unsaidIn = async (damaged: string, make: (path: string) => void): Promise<string[]> => {
    copies += 1;
    const path = join(folder, `${file}-${String(copies)}`, file);
    mkdirSync(dirname(path));
    make(path);
    const { answers, lines } = await answersOf(path);
    const isSaid = lines.some(
      (line) => line.includes(`${file} is damaged`) && !line.includes('dependency_unavailable'),
    );
    return JSON.stringify(answers) === JSON.stringify(expected) || isSaid ? [] : [`${damaged}: ${lines.join('; ')}`];
  };

  it(
    'changes no answer, unless a line says which file is damaged',
    async () => {
      const bytes = readFileSync(original);
      const random = new SeededRandom(SEED);
      const unsaid: string[] = [];
      for (let round = 0; round < BYTES; round += 1) {
        const at = random.between(0, bytes.length - 1);
        const copy = Buffer.from(bytes);
        copy[at] = (bytes[at] ?? 0) ^ random.between(1, 255);
        unsaid.push(...(await unsaidIn(`byte ${String(at)}`, (path) => writeFileSync(path, copy))));
      }
      expect(unsaid).toEqual([]);
    },
    TEST_MS,
  );

  it(
    'changes no answer in whichever column of a table it is, unless a line says which file is damaged',
    async () => {
      const unsaid: string[] = [];
      for (const [table, column] of columnsOf(original)) {
        const change = (path: string) => {
          copyFileSync(original, path);
          changed(path, table, column);
        };
        unsaid.push(...(await unsaidIn(`${column} of ${table}`, change)));
      }
      expect(unsaid).toEqual([]);
    },
    TEST_MS,
  );
});
