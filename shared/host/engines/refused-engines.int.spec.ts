import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { loadSettings } from '../../config/load-settings.ts';
import { CannotStart } from '../../errors/cannot-start.ts';
import { EventStoreServer } from '../../testing/event-store-server/event-store-server.esdb.ts';
import { startOtherServers } from '../../testing/engines/other-servers.ts';
import { asAdmin } from '../../testing/engines/kafka-admin.kafka.ts';
import { startSaslRefusingBroker } from '../../testing/engines/sasl-refusing-broker.ts';
import { whereServer } from '../../testing/engines/servers.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { closeEngines, openEngines, type EngineName } from './engines.ts';

const PASSWORD = 'h5Qw-hush-9';
const DATA_DIR = temporaryFolder();
const noFile = join(DATA_DIR, 'none.pem');
type Environment = Record<string, string>;
type Case = [what: string, environment: Environment, reason: RegExp];

const others = await startOtherServers();
const { silent, web } = others;
const nowhere = '127.0.0.1:9';
const lockedEvents = await EventStoreServer.start({ credentials: 'annals:other' });
const lockedBus = await startSaslRefusingBroker();

afterAll(async () => {
  others.close();
  await lockedEvents.close();
  lockedBus.close();
});

const esdb = (at: string, options = 'tls=false'): Environment => ({
  EVENTSTORE_URL: `esdb://annals:${PASSWORD}@${at}?${options}`,
});
const kafka = (KAFKA_BROKERS: string, more: Environment = {}): Environment => ({ KAFKA_BROKERS, ...more });
const login = { KAFKA_SASL: JSON.stringify({ mechanism: 'plain', username: 'annals', password: PASSWORD }) };
const mongo = (at: string, options = ''): Environment => ({
  MONGO_URL: `mongodb://annals:${PASSWORD}@${at}/${options}`,
});
const damaged = (file: string): Environment => {
  writeFileSync(join(DATA_DIR, file), 'damaged '.repeat(1_000));
  return {};
};

/** Returns the error that ends the start of an engine. */
const refusal = (engine: EngineName, environment: Environment): Promise<unknown> => {
  const { settings } = loadSettings({ DATA_DIR, ...environment });
  const opening = openEngines(settings, pino({ level: 'silent' }), [engine]);
  return opening.then(closeEngines, (reason: unknown) => reason);
};

/** Runs all tries concurrently, because most of their time is waiting for an answer. */
const tries: (() => void)[] = [];

const isRefused = (engine: EngineName, cases: readonly Case[]): void => {
  const refusals = new Map<string, ReturnType<typeof refusal>>();
  for (const [what, environment] of cases) tries.push(() => refusals.set(what, refusal(engine, environment)));

  it.each(cases)('%s', async (what, _environment, reason) => {
    const error = await refusals.get(what);
    expect(error).toBeInstanceOf(CannotStart);
    const { message } = error as CannotStart;
    expect(message).toMatch(reason);
    expect(message).not.toContain('\n');
    expect(inspect(error, { depth: null })).not.toContain(PASSWORD);
  });
};

describe('an event store is refused by its setting where', () => {
  const another = /^EVENTSTORE_URL: what answers at .* EventStoreDB/;
  isRefused('eventStore', [
    ['nothing listens', esdb(nowhere), /^EVENTSTORE_URL: nothing answers at 127\.0\.0\.1:9$/],
    ['no such host is known', esdb('no-such-host.invalid'), /^EVENTSTORE_URL: nothing answers at no-such-host/],
    ['what listens says nothing', esdb(silent), another],
    ['something else answers', esdb(web), another],
    [
      'the password is wrong',
      esdb(`127.0.0.1:${String(lockedEvents.port)}`),
      /^EVENTSTORE_URL: .* refuses these credentials$/,
    ],
    ['an option is not known', esdb(nowhere, 'colour=red'), /^EVENTSTORE_URL: .*colour/],
    [
      'there is no file of certificates',
      esdb('localhost:9', `tls=true&tlsCAFile=${noFile}`),
      /^EVENTSTORE_URL: .*not found/,
    ],
    [
      'the embedded one is damaged',
      damaged('events.db'),
      /events\.db is damaged \(file is not a database\): end every process/,
    ],
  ]);
});

const noKafka = /^KAFKA_BROKERS: no Kafka answers at/;
describe('a message bus is refused by its setting where', () => {
  isRefused('messageBus', [
    ['nothing listens', kafka(nowhere), noKafka],
    ['what listens says nothing', kafka(silent), noKafka],
    ['something else answers', kafka(web), noKafka],
    [
      'the password is wrong',
      kafka(lockedBus.address, login),
      /^KAFKA_SASL: .* refuses the login of annals \(.*Invalid/,
    ],
    ['there is no file of certificates', kafka(nowhere, { KAFKA_TLS: noFile }), /^KAFKA_TLS: .*none\.pem/],
    ['a file has no certificates', kafka(nowhere, { KAFKA_TLS: '/dev/null' }), /^KAFKA_TLS: \/dev\/null /],
    [
      'the embedded one is damaged',
      damaged('bus.db'),
      /bus\.db is damaged \(file is not a database\): end every process/,
    ],
  ]);
});

const noMongo = /^MONGO_URL: no MongoDB answers at/;
describe('a read store is refused by its setting where', () => {
  isRefused('readStore', [
    ['nothing listens', mongo(nowhere), noMongo],
    ['what listens says nothing', mongo(silent), noMongo],
    ['something else answers', mongo(web), noMongo],
    ['an option is not known', mongo(nowhere, '?colour=red'), /^MONGO_URL: .*colour/],
    ['there is no file of certificates', mongo(nowhere, `?tls=true&tlsCAFile=${noFile}`), /^MONGO_URL: .*none\.pem/],
    [
      'the embedded one is damaged',
      damaged('read.db'),
      /read\.db is damaged \(file is not a database\): end every process/,
    ],
  ]);
});

whereServer('KAFKA_BROKERS', (brokers) => {
  const TOPIC_PREFIX = `test-refused-engines-${String(process.pid)}.`;
  const topic = `${TOPIC_PREFIX}annals.users.v1`;
  const listed = brokers.split(',');
  beforeAll(() => asAdmin(listed, (admin) => admin.createTopics({ topics: [{ topic, numPartitions: 2 }] })));
  afterAll(() => asAdmin(listed, (admin) => admin.deleteTopics({ topics: [topic] })));

  describe('a Kafka that answers is refused where', () => {
    isRefused('messageBus', [
      ['it knows no logins', kafka(brokers, login), /^KAFKA_SASL: .* refuses the login of annals/],
      ['it does not speak TLS', kafka(brokers, { KAFKA_TLS: 'true' }), /^KAFKA_TLS: .* do not match/],
      [
        'a topic has other partitions',
        kafka(brokers, { TOPIC_PREFIX }),
        new RegExp(`^TOPIC_PARTITIONS: topic ${topic} has 2 partitions, not 12`),
      ],
    ]);
  });
  describe('a Kafka that answers is refused as a read store:', () => {
    isRefused('readStore', [['it is another engine', mongo(brokers), noMongo]]);
  });
});

whereServer('MONGO_URL', (url) => {
  const at = new URL(url).host;
  describe('a MongoDB that answers is refused where', () => {
    isRefused('readStore', [
      ['it does not know the user', mongo(at), /^MONGO_URL: .* does not accept the user name and password$/],
      ['it does not speak TLS', mongo(at, '?tls=true'), noMongo],
      ['it is of another replica set', mongo(at, '?replicaSet=other'), /^MONGO_URL: .* replica set other/],
      [
        'it would not answer writes',
        { MONGO_URL: `mongodb://${at}/?w=0` },
        /^MONGO_URL: w=0 leaves writes unacknowledged/,
      ],
    ]);
  });
  describe('a MongoDB that answers is refused as a message bus:', () => {
    isRefused('messageBus', [['it is another engine', kafka(at), noKafka]]);
  });
});

// Must be the last hook: tries may need what earlier hooks made.
beforeAll(() => {
  for (const begin of tries) begin();
});
