import { once } from 'node:events';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EventStoreServer } from '../../../shared/testing/event-store-server/event-store-server.esdb.ts';
import { asAdmin } from '../../../shared/testing/kafka-admin.kafka.ts';
import { RunningProcess } from '../../../shared/testing/running-process.ts';
import { serviceNames } from '../../../shared/testing/running-processes.ts';
import { startSaslRefusingBroker } from '../../../shared/testing/sasl-refusing-broker.ts';
import { whereServer } from '../../../shared/testing/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { testSettings } from '../../../shared/testing/whole-program.ts';

const REFUSES_WITHIN_MS = 15_000;
const SPOTTED = 'h5Qw-hush-9';
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
const sockets = new Set<Socket>();
const servers: Server[] = [];

const listening = async (server: Server): Promise<string> => {
  servers.push(server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined))));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
};
const mute = await listening(createServer());
const web = await listening(createHttpServer((_, answer) => answer.end('hello')));
const nowhere = '127.0.0.1:9';
const locked = await EventStoreServer.start({ credentials: 'annals:other' });
const lockedBus = await startSaslRefusingBroker();

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
  await locked.close();
  lockedBus.close();
});

const esdb = (at: string, options = 'tls=false'): Environment => ({
  EVENTSTORE_URL: `esdb://annals:${SPOTTED}@${at}?${options}`,
});
const kafka = (KAFKA_BROKERS: string, more: Environment = {}): Environment => ({ KAFKA_BROKERS, ...more });
const mongo = (at: string, options = ''): Environment => ({
  MONGO_URL: `mongodb://annals:${SPOTTED}@${at}/${options}`,
});
const login = (mechanism: string): Environment => ({
  KAFKA_SASL: JSON.stringify({ mechanism, username: 'annals', password: SPOTTED }),
});

/** What it said on its way out: one line, in time, without a stack and without a password. */
const refusal = async (program: Program, settings: Environment): Promise<string> => {
  const from = performance.now();
  const process = RunningProcess.spawn(program, programs[program], {
    ...testSettings,
    // Of its own: npm start has its folder for itself.
    DATA_DIR: mkdtempSync(join(folder, 'data-')),
    LOG_LEVEL: 'warn',
    ...{ ACCOUNT_URL: 'http://127.0.0.1:9', CHAINS: '[{"chainId":1,"rpcUrls":["http://127.0.0.1:9"]}]' },
    ...settings,
  });
  const late = setTimeout(() => void process.kill(), 2 * REFUSES_WITHIN_MS);
  const code = await process.ended();
  clearTimeout(late);
  expect({ code, said: process.output }).toEqual({ code: 1, said: expect.stringMatching(ONE_LINE) });
  expect(process.output).not.toContain(SPOTTED);
  expect(performance.now() - from).toBeLessThan(REFUSES_WITHIN_MS);
  return process.output;
};
const ONE_LINE = /^annals(?: cannot start)?: (?!.* at \S+:\d+:\d+)[^\n]*\n$/;

/** Most of their time is waiting for what does not answer. */
const refuse = (cases: readonly Case[]): void => {
  it.concurrent.each(cases)('%s: %s', async (program, _what, settings, ...reasons) => {
    const said = await refusal(program, settings);
    for (const reason of reasons) expect(said).toMatch(reason);
  });
};

const NONE = [/EVENTSTORE_URL: nothing answers at/, /KAFKA_BROKERS: no Kafka answers/, /MONGO_URL: no MongoDB answers/];
const OTHER = [/EVENTSTORE_URL: .* no EventStoreDB/, /KAFKA_BROKERS: no Kafka/, /MONGO_URL: no MongoDB/] as const;

describe('a start in whose way an engine is says which setting names it', () => {
  const [noEvents, noBus, noReads] = [esdb(nowhere), kafka(nowhere), mongo(nowhere)];
  const [muteEvents, muteBus, muteReads] = [esdb(mute), kafka(mute), mongo(mute)];
  const [webEvents, webBus, webReads] = [esdb(web), kafka(web), mongo(web)];
  refuse([
    ['relay', 'no engine is there', { ...noEvents, ...noBus, ...noReads }, ...NONE],
    ['stream', 'none of them answers', { ...muteEvents, ...muteBus, ...muteReads }, ...OTHER],
    ['npm start', 'something else answers', { ...webEvents, ...webBus, ...webReads }, ...OTHER],
    ['account', 'no event store answers', muteEvents, OTHER[0]],
    ['event-catcher', 'no event store is there', noEvents, /EVENTSTORE_URL: nothing answers/],
    ['projector', 'something else answers', { ...webEvents, ...webReads }, OTHER[0], OTHER[2]],
    ['app create', 'no event store is there', esdb('no-such-host.invalid'), /EVENTSTORE_URL: nothing answers/],
    ['account', 'a read store that says nothing', muteReads, OTHER[2]],
  ]);
});

describe('a start that an engine refuses says so', () => {
  const refused = /EVENTSTORE_URL: .* refuses these credentials/;
  refuse(
    [...serviceNames, 'npm start' as const, 'app create' as const].map((program): Case => {
      return [program, 'a wrong password', esdb(`127.0.0.1:${String(locked.port)}`), refused];
    }),
  );
  const refusedLogin = /KAFKA_SASL: .* refuses the login of annals \(.*Invalid username or password/;
  refuse(
    (['relay', 'stream', 'npm start'] as const).map((program): Case => {
      return [program, 'a wrong password for Kafka', kafka(lockedBus.address, login('plain')), refusedLogin];
    }),
  );
});

describe('a start with a setting that cannot be used names it', () => {
  const noFile = join(folder, 'none.pem');
  refuse([
    ['account', 'no URL', { EVENTSTORE_URL: `http://a:${SPOTTED}@b` }, /EVENTSTORE_URL is not an esdb URL/],
    ['app create', 'an unknown option', esdb(nowhere, 'colour=red'), /EVENTSTORE_URL: .*colour/],
    [
      'projector',
      'no certificates',
      esdb('localhost:9', `tls=true&tlsCAFile=${noFile}`),
      /EVENTSTORE_URL: .*not found/,
    ],
    ['npm start', 'a proxy that is none', { TRUSTED_PROXIES: 'gateway' }, /TRUSTED_PROXIES/],
    ['npm start', 'no broker', kafka('localhost'), /KAFKA_BROKERS is not a list of host:port/],
    ['stream', 'no certificates', kafka(nowhere, { KAFKA_TLS: noFile }), /KAFKA_TLS: .*none.pem/],
    [
      'relay',
      'no certificates in it',
      kafka(nowhere, { KAFKA_TLS: '/dev/null' }),
      /KAFKA_TLS: .*null is not a file with/,
    ],
    ['event-catcher', 'no URL', { MONGO_URL: `mongodb://a:${SPOTTED}/b@c` }, /MONGO_URL is not a mongodb URL/],
    ['account', 'an unknown option', mongo(nowhere, '?colour=red'), /MONGO_URL: .*colour/],
    ['projector', 'no certificates', mongo(nowhere, `?tls=true&tlsCAFile=${noFile}`), /MONGO_URL: .*none\.pem/],
    ['event-catcher', 'no chain', { CHAINS: '' }, /CHAINS is required here/],
    ['stream', 'no way to know whose tokens count', { ACCOUNT_URL: '' }, /ACCOUNT_URL is required here/],
  ]);
});

describe('a start that has nowhere to write or to listen says so', () => {
  const damaged = (...names: string[]): Environment => {
    const DATA_DIR = join(folder, `damaged-${names.join('-')}`);
    mkdirSync(DATA_DIR);
    for (const name of names) writeFileSync(join(DATA_DIR, name), 'damaged '.repeat(1_000));
    return { DATA_DIR, CHAINS: '' };
  };
  const taken = mute.replace(/.*:/, '');
  const cannotBeOpened = /a store in .*damaged-events\S* cannot be opened/;
  refuse([
    ...[...serviceNames, 'npm start' as const, 'app create' as const].map((program): Case => [
      program,
      'a folder that is none',
      { DATA_DIR: '/dev/null/annals' },
      /set DATA_DIR to another/,
    ]),
    ['app create', 'a store that is damaged', damaged('events.db', 'read.db'), cannotBeOpened],
    ...serviceNames.map((program): Case => [
      program,
      'a port that is taken',
      { METRICS_PORT: taken },
      /is in use: .* set METRICS_PORT/,
    ]),
    ['account', 'a port that is taken', { ACCOUNT_PORT: taken }, /is in use: .* set ACCOUNT_PORT/],
    ['event-catcher', 'a port that is taken', { EVENT_CATCHER_PORT: taken }, /is in use: .* set EVENT_CATCHER_PORT/],
    ['stream', 'a port that is taken', { STREAM_PORT: taken }, /is in use: .* set STREAM_PORT/],
    ['relay', 'an address of another machine', { HOST: '192.0.2.1', METRICS_PORT: '9464' }, /set HOST to one/],
    ['npm start', 'an address of another machine', { HOST: '192.0.2.1', ACCOUNT_PORT: '45999' }, /set HOST to one/],
    [
      'npm start',
      'a port twice',
      { ACCOUNT_PORT: '45999', STREAM_PORT: '45999' },
      /PORT and STREAM_PORT are both 45999/,
    ],
    ['npm start', 'a key that is damaged', damaged('master.key'), /master\.key is damaged/],
    ['npm start', 'a lock that is none', damaged('start.lock'), /start\.lock is not a lock of ours/],
    ['npm start', 'a store that is damaged', damaged('events.db'), cannotBeOpened],
    ['npm start', 'keys that are damaged', damaged('keys'), /keys/],
    ['npm start', 'a chain that is damaged', damaged('chain'), /chain/],
  ]);
});

describe('production does not start with what is only for development', () => {
  const production = { NODE_ENV: 'production', RATE_LIMITS: '', LOG_LEVEL: 'info' };
  refuse([
    ['account', 'no key', production, /MASTER_KEY is required in production/],
    ['relay', 'acknowledgements below all', { ...production, KAFKA_ACKS: '1' }, /KAFKA_ACKS must be all/],
    ['projector', 'writes below a majority', { ...production, ...mongo('a,b', '?w=1') }, /MONGO_URL .*w=majority/],
    [
      'stream',
      'a placeholder',
      { ...production, MASTER_KEY: Buffer.alloc(32, 7).toString('base64') },
      /MASTER_KEY is a/,
    ],
    [
      'app create',
      'a placeholder',
      { ...production, EVENTSTORE_URL: 'esdb://admin:changeit@a' },
      /EVENTSTORE_URL has a/,
    ],
  ]);
});

whereServer('KAFKA_BROKERS', (brokers) => {
  const TOPIC_PREFIX = `test-wrong-settings-${String(process.pid)}.`;
  const topic = `${TOPIC_PREFIX}annals.users.v1`;
  const listed = brokers.split(',');

  describe('a start with a topic of other partitions', () => {
    beforeAll(() => asAdmin(listed, (admin) => admin.createTopics({ topics: [{ topic, numPartitions: 2 }] })));
    afterAll(() => asAdmin(listed, (admin) => admin.deleteTopics({ topics: [topic] })));

    it.each(['relay', 'stream', 'npm start'] as const)('%s: names topic and setting', async (program) => {
      const said = await refusal(program, kafka(brokers, { TOPIC_PREFIX }));
      expect(said).toMatch(new RegExp(`TOPIC_PARTITIONS: topic ${topic} has 2 partitions, not 12`));
    });
  });

  describe('a start that Kafka refuses names the setting', () => {
    refuse([
      [
        'relay',
        'a login where there is none',
        kafka(brokers, login('plain')),
        /KAFKA_SASL: .* refuses the login of annals/,
      ],
      ['stream', 'TLS', kafka(brokers, { KAFKA_TLS: 'true' }), /KAFKA_TLS: .* do not match/],
      ['projector', 'a read store that is a bus', mongo(brokers), OTHER[2]],
    ]);
  });
});

whereServer('MONGO_URL', (url) => {
  const at = new URL(url).host;
  describe('a start that MongoDB refuses names the setting', () => {
    refuse([
      ['account', 'a login', mongo(at), /MONGO_URL: .* does not accept the user name and password/],
      ['projector', 'TLS', mongo(at, '?tls=true'), OTHER[2]],
      ['event-catcher', 'another replica set', mongo(at, '?replicaSet=other'), /MONGO_URL: .* replica set other/],
      ['npm start', 'writes without answers', { MONGO_URL: `mongodb://${at}/?w=0` }, /MONGO_URL: with w=0/],
      ['relay', 'a bus that is a read store', kafka(at), OTHER[1]],
    ]);
  });
});
