import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import { JsonRpcNode } from '../../../../shared/testing/chain/json-rpc-node.ts';
import { EventStoreServer } from '../../../../shared/testing/event-store-server/event-store-server.esdb.ts';
import { startOtherServers } from '../../../../shared/testing/engines/other-servers.ts';
import { RunningProcess } from '../../../../shared/testing/processes/running-process.ts';
import { serviceNames } from '../../../../shared/config/services.ts';
import { startSaslRefusingBroker } from '../../../../shared/testing/engines/sasl-refusing-broker.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { testSettings } from '../../../../shared/testing/processes/whole-program.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';

const REFUSES_WITHIN_MS = 120_000;
const CHAINS = '[{"chainId":1,"rpcUrls":["http://127.0.0.1:9"]}]';
const PASSWORD = 'h5Qw-hush-9';
const COMMAND_LINE = 'services/standalone/annals.js';

const programs = {
  ...(Object.fromEntries(serviceNames.map((name) => [name, [COMMAND_LINE, name]])) as Record<
    (typeof serviceNames)[number],
    string[]
  >),
  'npm start': ['services/standalone/main.js'],
  'app create': [COMMAND_LINE, 'app', 'create', '--name', 'Shop', '--origin', 'https://shop.example'],
};
type Program = keyof typeof programs;
type Environment = Record<string, string>;
type Case = [Program, string, Environment, ...RegExp[]];

const folder = temporaryFolder();
const others = await startOtherServers();
const { silent, web } = others;
const nowhere = '127.0.0.1:9';
const usedPort = silent.replace(/.*:/, '');
const locked = await EventStoreServer.start({ credentials: 'annals:other' });
const lockedEvents = `127.0.0.1:${String(locked.port)}`;
const lockedBus = await startSaslRefusingBroker();

const chainOfOthers = await JsonRpcNode.start(new MemoryChain(5));
const SERVES_ANOTHER = /CHAINS\[0\]\.rpcUrls\[0\] serves chain 5, and CHAINS\[0\]\.chainId is 1: correct one of them/;

afterAll(async () => {
  others.close();
  await chainOfOthers.stop();
  await locked.close();
  lockedBus.close();
});

const esdb = (at: string): Environment => ({ EVENTSTORE_URL: `esdb://annals:${PASSWORD}@${at}?tls=false` });
const kafka = (KAFKA_BROKERS: string, more: Environment = {}): Environment => ({ KAFKA_BROKERS, ...more });
const mongo = (at: string): Environment => ({ MONGO_URL: `mongodb://annals:${PASSWORD}@${at}/` });
const login = { KAFKA_SASL: JSON.stringify({ mechanism: 'plain', username: 'annals', password: PASSWORD }) };
/** For a start that waits for servers, and says so. */
const withoutWarnings = { LOG_LEVEL: 'error' };
const production = { NODE_ENV: 'production', RATE_LIMITS: '', LOG_LEVEL: 'info' };

/** Starts the program and returns its output, which must be one line, without a stack and the password. */
const refusal = async (program: Program, settings: Environment): Promise<string> => {
  await using process = RunningProcess.spawn(program, programs[program], {
    ...testSettings,
    // npm start needs a data folder for itself.
    DATA_DIR: mkdtempSync(join(folder, 'data-')),
    LOG_LEVEL: 'warn',
    ...{ ACCOUNT_URL: 'http://127.0.0.1:9', EVENT_URL: 'http://127.0.0.1:9', CHAINS },
    ...settings,
  });
  await eventually(() => process.hasEnded, REFUSES_WITHIN_MS, 'it must end by itself');
  const code = await process.ended();
  expect({ code, output: process.output }).toEqual({ code: 1, output: expect.stringMatching(ONE_LINE) });
  expect(process.output).not.toContain(PASSWORD);
  return process.output;
};
const ONE_LINE = /^annals(?: cannot start)?: (?!.* at \S+:\d+:\d+)[^\n]*\n$/;

const OTHER = [/EVENTSTORE_URL: .* EventStoreDB/, /KAFKA_BROKERS: no Kafka/, /MONGO_URL: no MongoDB/];

const damaged = (...names: string[]): Environment => {
  const DATA_DIR = join(folder, `damaged-${names.join('-')}`);
  mkdirSync(DATA_DIR);
  for (const name of names) writeFileSync(join(DATA_DIR, name), 'damaged '.repeat(1_000));
  return { DATA_DIR, CHAINS: '' };
};

/** Read models beside an event store that lacks their events. */
const olderCopy = async (): Promise<Environment> => {
  const DATA_DIR = mkdtempSync(join(folder, 'older-'));
  const readStore = new SqliteReadStore(join(DATA_DIR, 'read.db'));
  const event = { id: randomUUID(), stream: 'user-0x1', revision: 0, position: 7 };
  await readStore.apply('users-v5', [], 9, event);
  await readStore.close();
  return { DATA_DIR };
};
const older = await olderCopy();
const OLDER_COPY = /older copy, .* remove read\.db\* in \S+ and bus\.db\* in \S+,/;

/**
 * One case of each kind of error, with every program at least once. The specs of settings, engines, folders, ports and
 * keys have the other cases.
 */
const cases: Case[] = [
  [
    'account',
    'a setting that cannot be read',
    { EVENTSTORE_URL: `http://a:${PASSWORD}@b` },
    /EVENTSTORE_URL .*esdb URL/,
  ],
  ...(['account', 'event-catcher', 'npm start'] as const).map((program): Case => [
    program,
    'an endpoint of another chain',
    { CHAINS: JSON.stringify([{ chainId: 1, rpcUrls: [chainOfOthers.url] }]) },
    SERVES_ANOTHER,
  ]),
  ['event-catcher', 'a required setting missing', { CHAINS: '' }, /CHAINS is required here/],
  [
    'stream',
    'no account service whose tokens to accept',
    { ACCOUNT_URL: '' },
    /ACCOUNT_URL must be set, because ACCOUNT_PORT is 0/,
  ],
  [
    'stream',
    'no event catcher for its clients',
    { EVENT_URL: '' },
    /EVENT_URL must be set, because EVENT_CATCHER_PORT is 0/,
  ],
  ['account', 'no key in production', production, /MASTER_KEY is required in production/],
  [
    'relay',
    'a setting in production that only development allows',
    { ...production, KAFKA_ACKS: '1' },
    /KAFKA_ACKS must be all/,
  ],
  ['projector', 'a data folder that cannot be written', { DATA_DIR: '/dev/null/annals' }, /set DATA_DIR to another/],
  ['npm start', 'a data folder that cannot be written', { DATA_DIR: '/dev/null/annals' }, /set DATA_DIR to another/],
  [
    'app create',
    'a data folder without stores',
    { DATA_DIR: '/dev/null/annals' },
    /has no stores: set DATA_DIR to the/,
  ],
  ['stream', 'a port that is taken', { STREAM_PORT: usedPort }, /is in use: .* set STREAM_PORT/],
  ['event-catcher', 'a port of metrics that is taken', { METRICS_PORT: usedPort }, /is in use: .* set METRICS_PORT/],
  ['npm start', 'a port twice', { ACCOUNT_PORT: '45999', STREAM_PORT: '45999' }, /PORT and STREAM_PORT are both 45999/],
  ['npm start', 'a lock that is damaged', damaged('start.lock'), /start\.lock cannot be used as a lock file/],
  ['npm start', 'an older copy of the event store', older, OLDER_COPY],
  ...(['account', 'event-catcher', 'stream', 'projector', 'relay'] as const).map((service): Case => [
    service,
    'an older copy of the event store',
    older,
    OLDER_COPY,
  ]),
  ['npm start', 'a vault without its master key', damaged('vault.db'), /master\.key is missing, and .*vault\.db was/],
  [
    'npm start',
    'a vault that is damaged',
    { ...damaged('vault.db', 'vault.db-wal'), MASTER_KEY: Buffer.alloc(32, 7).toString('base64') },
    /damaged-vault\S*vault\.db is damaged \(file is not a database\): .*vault restore/,
  ],
  [
    'app create',
    'a store that is damaged',
    damaged('events.db'),
    /damaged-events\S*events\.db is damaged \(file is not a database\): .*restore events\.db/,
  ],
  [
    'relay',
    'engines that cannot be reached',
    { ...esdb(nowhere), ...kafka(nowhere), ...mongo(nowhere), ...withoutWarnings },
    /EVENTSTORE_URL: nothing answers at/,
    ...OTHER.slice(1),
  ],
  [
    'stream',
    'engines that do not answer',
    { ...esdb(silent), ...kafka(silent), ...mongo(silent), ...withoutWarnings },
    ...OTHER,
  ],
  [
    'npm start',
    'another server in the place of each engine',
    { ...esdb(web), ...kafka(web), ...mongo(web), ...withoutWarnings },
    ...OTHER,
  ],
  ['projector', 'a wrong password', esdb(lockedEvents), /EVENTSTORE_URL: .* refuses these credentials/],
  ['app create', 'a wrong password', esdb(lockedEvents), /EVENTSTORE_URL: .* refuses these credentials/],
  [
    'relay',
    'a wrong password for Kafka',
    kafka(lockedBus.address, login),
    /KAFKA_SASL: .* refuses the login of annals/,
  ],
];

describe('a start that fails prints the reason in one line, and without a password:', () => {
  // Concurrent, because most of their time is spent waiting for timeouts.
  it.concurrent.each(cases)('%s with %s', async (program, _what, settings, ...reasons) => {
    const output = await refusal(program, settings);
    for (const reason of reasons) expect(output).toMatch(reason);
  });
});
