import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { COSIGNATURE, noteKey, vkeyOf } from '../transparency-log/signed-note.ts';
import { requiredByService } from './services.ts';
import { loadSettings, SettingsError, type RequiredSettings } from './load-settings.ts';
import { maskUrl } from './mask-url.ts';

const folder = temporaryFolder();
const aKey = Buffer.from(Array.from({ length: 32 }, (_, index) => (index * 37) % 256)).toString('base64');
const chains = JSON.stringify([{ chainId: 1, rpcUrls: ['http://127.0.0.1:1'] }]);

const witness = (name: string) => ({
  url: `https://${name}`,
  vkey: vkeyOf(noteKey(name, Buffer.alloc(32, 1), COSIGNATURE)),
});
const { vkey: WITNESS } = witness('w.example');

const wrongIn = (environment: NodeJS.ProcessEnv, required?: RequiredSettings): string[] => {
  try {
    loadSettings(environment, required);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.wrong.map(({ name }) => name);
    throw error;
  }
};

/** Defaults for a chain that names no contracts. */
const CONTRACTS = {
  entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
  accountFactory: '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985',
};

describe('settings', () => {
  it('have the defaults of the interface', () => {
    const { settings, sources } = loadSettings({});
    expect(settings).toMatchObject({
      NODE_ENV: 'development',
      DATA_DIR: '.annals',
      HOST: '127.0.0.1',
      ACCOUNT_PORT: 3000,
      METRICS_PORT: 9464,
      RATE_LIMITS: {},
      TRUSTED_PROXIES: [],
    });
    expect(sources.DATA_DIR).toBe('default');
  });

  it('come from the environment before the file, and an empty value counts as absent', () => {
    const file = join(folder, 'annals.env');
    writeFileSync(file, 'HOST=127.0.0.2\nACCOUNT_PORT=4000\nLOG_LEVEL=\n');
    const { settings, sources } = loadSettings({ ANNALS_ENV_FILE: file, ACCOUNT_PORT: '5000', DATA_DIR: '' });
    expect(settings).toMatchObject({ HOST: '127.0.0.2', ACCOUNT_PORT: 5000, LOG_LEVEL: 'info', DATA_DIR: '.annals' });
    expect(sources).toMatchObject({ HOST: 'file', ACCOUNT_PORT: 'environment', LOG_LEVEL: 'default' });
  });

  it('are refused with the name of every wrong one, and without values', () => {
    const environment = {
      ACCOUNT_PORT: '70000',
      CHAINS: 'secret-no-json',
      EVENTSTORE_URL: 'http://annals:secret@a',
      MONGO_URL: 'mongodb://annals:secret/b@c',
      RATE_LIMITS: '{"logins":{"points":1,"seconds":1}}',
    };
    expect(wrongIn(environment).toSorted()).toEqual(Object.keys(environment).toSorted());
    expect(() => loadSettings(environment)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    );
    expect(() => loadSettings({ RATE_LIMITS: '{' })).toThrow(/^RATE_LIMITS is not valid JSON/);
    expect(() => loadSettings({ RATE_LIMITS: '{"login":{"points":1}}' })).toThrow(
      'RATE_LIMITS login: seconds: is required',
    );
    expect(() => loadSettings({ LOG_WITNESSES: '[{"url":"https://w.example","vkey":"x"}]' })).toThrow(
      'LOG_WITNESSES.0.vkey is not the key of a witness: it must be <name>+<id>+<base64>, as the witness prints it',
    );
    expect(wrongIn({ CHAINS: '[{"chainId":1,"rpcUrls":["ftp://x"]}]' })).toEqual(['CHAINS.0.rpcUrls.0']);
    expect(wrongIn({ ANNALS_ENV_FILE: join(folder, 'absent') })).toEqual(['ANNALS_ENV_FILE']);
  });

  it.each([
    ['ACCOUNT_PORT', ' '],
    ['ACCOUNT_PORT', '0x50'],
    ['METRICS_PORT', 'OFF'],
    ['TRUSTED_PROXIES', 'nonsense'],
    ['TRUSTED_PROXIES', '127.0.0.1,10.0.0.0/33'],
    ['KAFKA_BROKERS', '[::1]:9092'],
    ['KAFKA_BROKERS', 'a:9092,b'],
    ['KAFKA_BROKERS', 'localhost'],
    ['KAFKA_BROKERS', 'a:0'],
    ['ACCOUNT_URL', 'ftp://accounts.example'],
    ['ACCOUNT_URL', 'http://localhost}'],
    ['ACCOUNT_URL', 'https://accounts.example/?a'],
    ['CHAINS', '[{"chainId":1,"rpcUrls":["http://a"]},{"chainId":1,"rpcUrls":["http://b"]}]'],
    ['CHAINS', '[]'],
    ['NODE_ENV', 'staging'],
    ['EVENT_CATCHER_PORT', '1e3'],
    ['STREAM_PORT', '65536'],
    ['STREAM_PORT', 'x1'],
    ['STREAM_PORT', '1x'],
    ['STREAM_URL', 'https://stream.example/#a'],
    ['ACCOUNT_JWKS_URL', 'file:///keys'],
    ['KAFKA_BROKERS', ' , '],
    ['KAFKA_BROKERS', 'a:99999'],
    ['KAFKA_BROKERS', 'a b:1'],
    ['KAFKA_BROKERS', 'a:1x'],
    ['KAFKA_SASL', '{"mechanism":"scram-sha-1","username":"u","password":"p"}'],
    ['KAFKA_SASL', '{"mechanism":"plain","username":"","password":"p"}'],
    ['KAFKA_SASL', '{"mechanism":"plain","username":"u","password":""}'],
    ['KAFKA_ACKS', '-1'],
    ['KAFKA_COMPRESSION', 'lz4'],
    ['TOPIC_PREFIX', 'a b'],
    ['TOPIC_PREFIX', 'a'.repeat(65)],
    ['TOPIC_PARTITIONS', '{"annals.users.v2":1}'],
    ['TOPIC_PARTITIONS', '{"annals.users.v1":0}'],
    ['TOPIC_PARTITIONS', '{"annals.users.v1":1001}'],
    ['MONGO_DATABASE', 'a.b'],
    ['MONGO_DATABASE', 'a'.repeat(39)],
    ['MASTER_KEY', 'not base64!'],
    ['MASTER_KEY', Buffer.alloc(31, 1).toString('base64')],
    ['MASTER_KEY', Buffer.alloc(33, 1).toString('base64')],
    ['TRUSTED_PROXIES', '::1/129'],
    ['TRUSTED_PROXIES', '10.0.0.0/8/8'],
    ['TRUSTED_PROXIES', '10.0.0.0/'],
    ['TRUSTED_PROXIES', '10.0.0.0/1x'],
    ['TRUSTED_PROXIES', '10.0.0.0/x1'],
    ['RATE_LIMITS', 'on'],
    ['RATE_LIMITS', '{"login":{"points":0,"seconds":1}}'],
    ['VERIFY_SECONDS', '0'],
    ['VERIFY_SECONDS', 'never'],
    ['LOG_LEVEL', 'verbose'],
    ['STOP_SECONDS', '0'],
    ['SMTP_URL', 'http://mail.example'],
    ['SMTP_URL', 'mail.example:25'],
    ['SMTP_URL', 'smtp://'],
    ['MAIL_FROM', 'nobody'],
    ['MAIL_FROM', 'a@mail.example, b@mail.example'],
    ['MAIL_FROM', 'Annals\r\nBcc: <a@mail.example>'],
    ['MAIL_FROM', 'Annals <a@mail.example> more'],
    ['MESSENGER_API_URL', 'ftp://api.example'],
    ['MESSENGER_BOT_TOKEN', '1:a/../b'],
    ['MESSENGER_BOT_NAME', '@annals_bot'],
    ['MESSENGER_WEBHOOK_SECRET', 'a b'],
    ['MESSENGER_WEBHOOK_SECRET', 'a'.repeat(257)],
    ['LOG_WITNESSES', '{}'],
    ['LOG_WITNESSES', JSON.stringify([{ url: 'https://w.example' }])],
    ['LOG_WITNESSES', JSON.stringify([{ vkey: WITNESS }])],
    ['LOG_WITNESSES', JSON.stringify([{ url: 'w.example', vkey: WITNESS }])],
    ['LOG_WITNESSES', JSON.stringify([{ url: 'ftp://w.example', vkey: WITNESS }])],
    ['LOG_WITNESSES', JSON.stringify([{ url: 'https://u:p@w.example', vkey: WITNESS }])],
    ['LOG_WITNESSES', JSON.stringify([{ url: 'https://w.example/?a', vkey: WITNESS }])],
    ['LOG_WITNESSES', JSON.stringify([{ url: 'https://w.example', vkey: WITNESS, name: 'w' }])],
    ['LOG_WITNESSES', JSON.stringify([{ url: 'https://w.example', vkey: WITNESS.replace('w.ex', 'v.ex') }])],
    ['LOG_WITNESSES', JSON.stringify([{ url: 'https://w.example', vkey: vkeyOf(noteKey('l', Buffer.alloc(32))) }])],
    ['LOG_WITNESSES', JSON.stringify([1, 2].map((at) => ({ url: `https://w${String(at)}.example`, vkey: WITNESS })))],
    ['LOG_WITNESSES', JSON.stringify(Array.from({ length: 16 }, (_, at) => witness(`w${String(at)}.example`)))],
  ])('do not accept %s=%s', (name, value) => {
    expect(wrongIn({ [name]: value }).map((path) => path.split('.')[0])).toEqual([name]);
  });

  it.each([
    ['STREAM_PORT', '65535', 65_535],
    ['METRICS_PORT', '0', 0],
    ['KAFKA_BROKERS', ' a-1.b_c:1, 10.0.0.1:65535 ,', ['a-1.b_c:1', '10.0.0.1:65535']],
    ['KAFKA_ACKS', '0', '0'],
    ['KAFKA_COMPRESSION', '', 'zstd'],
    ['KAFKA_COMPRESSION', 'none', 'none'],
    ['TOPIC_PREFIX', 'a'.repeat(64), 'a'.repeat(64)],
    [
      'TOPIC_PARTITIONS',
      '{"annals.users.v1":1000,"annals.contracts.v1":1}',
      { 'annals.users.v1': 1000, 'annals.contracts.v1': 1 },
    ],
    ['MONGO_DATABASE', `A_${'a'.repeat(36)}`, `A_${'a'.repeat(36)}`],
    ['TRUSTED_PROXIES', '::1/128,10.0.0.1/32,::/0', ['::1/128', '10.0.0.1/32', '::/0']],
    ['VERIFY_SECONDS', 'off', 'off'],
    ['VERIFY_SECONDS', '3600', 3_600],
    ['RATE_LIMITS', 'off', 'off'],
    ['RATE_LIMITS', '{"login":{"points":1,"seconds":1}}', { login: { points: 1, seconds: 1 } }],
    ['EVENT_URL', 'http://events.example//', 'http://events.example'],
    ['MAIL_FROM', 'Annals Accounts <no-reply@annals.example>', 'Annals Accounts <no-reply@annals.example>'],
    ['MAIL_FROM', 'no-reply@annals.example', 'no-reply@annals.example'],
    ['MESSENGER_API_URL', '', 'https://api.telegram.org'],
    ['MESSENGER_API_URL', 'http://127.0.0.1:8081/', 'http://127.0.0.1:8081'],
    [
      'CHAINS',
      '[{"chainId":1,"rpcUrls":["http://a"]}]',
      [{ chainId: 1, rpcUrls: ['http://a'], finality: 'finalized', confirmations: 64, ...CONTRACTS }],
    ],
    ['LOG_WITNESSES', '', []],
    [
      'LOG_WITNESSES',
      JSON.stringify([{ url: 'http://127.0.0.1:4300/', vkey: WITNESS }, witness('v.example')]),
      [{ url: 'http://127.0.0.1:4300', vkey: WITNESS }, witness('v.example')],
    ],
  ] as const)('accept %s=%s', (name, text, value) => {
    expect(loadSettings({ [name]: text }).settings[name]).toEqual(value);
  });

  it.each([
    ['0', false],
    ['1', true],
    ['512', true],
    ['513', false],
  ])('accept %s confirmations of a chain: %s', (confirmations, accepted) => {
    const text = `[{"chainId":1,"rpcUrls":["http://a"],"confirmations":${confirmations}}]`;
    expect(wrongIn({ CHAINS: text })).toEqual(accepted ? [] : ['CHAINS.0.confirmations']);
  });

  it.each([
    ['"finalized"', true],
    ['"safe"', true],
    ['1', true],
    ['512', true],
    ['0', false],
    ['513', false],
    ['1.5', false],
    ['"12"', false],
    ['"latest"', false],
    ['null', false],
  ])('accept %s as finality of a chain: %s', (finality, accepted) => {
    const text = `[{"chainId":1,"rpcUrls":["http://a"],"finality":${finality}}]`;
    expect(wrongIn({ CHAINS: text })).toEqual(accepted ? [] : ['CHAINS.0.finality']);
  });

  it.each(['entryPoint', 'accountFactory'])(
    'read %s of a chain in any letter case, and refuse what is no address',
    (name) => {
      const chains = (address: string) => JSON.stringify([{ chainId: 1, rpcUrls: ['http://a'], [name]: address }]);
      const { settings } = loadSettings({ CHAINS: chains(CONTRACTS.accountFactory.toLowerCase()) });
      expect(settings.CHAINS?.[0]).toMatchObject({ [name]: CONTRACTS.accountFactory });
      expect(wrongIn({ CHAINS: chains('0x1') })).toEqual([`CHAINS.0.${name}`]);
    },
  );

  it('accept addresses and ranges of proxies, and remove the last slash of URLs', () => {
    const { settings } = loadSettings({
      TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8,fd00::/8',
      ACCOUNT_URL: 'https://accounts.example/',
      METRICS_PORT: 'off',
    });
    expect(settings).toMatchObject({
      TRUSTED_PROXIES: ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'],
      ACCOUNT_URL: 'https://accounts.example',
      METRICS_PORT: 'off',
    });
  });

  it('accept URLs of servers with several hosts, and refuse those that are not valid', () => {
    for (const MONGO_URL of [
      'mongodb://127.0.0.1:27117',
      'mongodb://a:1,b:2,[::1]:3/annals?replicaSet=r',
      'mongodb+srv://u:p%40ss@cluster.example',
    ])
      expect(loadSettings({ MONGO_URL }).settings).toMatchObject({ MONGO_URL });
    for (const EVENTSTORE_URL of [
      'esdb://a:2113,b:2113?tls=true',
      'esdb://u:p@a:2113,b:2113,c:2113?tls=false',
      'esdb+discover://events.example:2113/',
    ])
      expect(loadSettings({ EVENTSTORE_URL }).settings).toMatchObject({ EVENTSTORE_URL });
    for (const MONGO_URL of [
      'mongodb://',
      'http://a',
      'mongodb://a:99999',
      'mongodb://a,,b',
      'mongodb://u:p/q@a',
      'a:1',
    ])
      expect(wrongIn({ MONGO_URL })).toEqual(['MONGO_URL']);
    for (const EVENTSTORE_URL of ['esdb://a b', 'http://a:2113', 'esdb://u:%zz@a'])
      expect(wrongIn({ EVENTSTORE_URL })).toEqual(['EVENTSTORE_URL']);
  });

  it('are shown with the host of an RPC provider or server, and without keys and passwords', () => {
    const shown = [
      'https://user:pass@rpc.example:8443/v3/key?apikey=key',
      'http://127.0.0.1:8545',
      'wss://rpc.example/key',
    ];
    expect(shown.map(maskUrl)).toEqual(['https://rpc.example:8443/…', 'http://127.0.0.1:8545', 'wss://rpc.example/…']);
    const servers = [
      'mongodb://u:hush@a:1,[::1]:2/db?w=1',
      'esdb://127.0.0.1:2113',
      'esdb://u:hush@a:1',
      'mongodb://u:hu/sh@a,b',
    ];
    expect(servers.map(maskUrl)).toEqual([
      'mongodb://a:1,[::1]:2/…',
      'esdb://127.0.0.1:2113',
      'esdb://a:1/…',
      '********',
    ]);
  });

  it.each([
    ['no key', {}, 'MASTER_KEY'],
    ['a key of one byte repeated', { MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }, 'MASTER_KEY'],
    [
      'a key that somebody typed',
      { MASTER_KEY: Buffer.from('change-me-change-me-change-me-32').toString('base64') },
      'MASTER_KEY',
    ],
    ['no rate limits', { RATE_LIMITS: 'off', MASTER_KEY: aKey }, 'RATE_LIMITS'],
    ['no chain', { CHAINS: '', MASTER_KEY: aKey }, 'CHAINS'],
  ])('are refused in production with %s', (_what, environment, name) => {
    expect(wrongIn({ NODE_ENV: 'production', CHAINS: chains, ...environment })).toEqual([name]);
  });

  it('are refused with the names of those that production forbids and of those that cannot be read', () => {
    const environment = {
      NODE_ENV: 'production',
      ACCOUNT_PORT: 'x',
      KAFKA_ACKS: '2',
      RATE_LIMITS: 'off',
      CHAINS: chains,
    };
    expect(wrongIn(environment)).toEqual(['ACCOUNT_PORT', 'KAFKA_ACKS', 'MASTER_KEY', 'RATE_LIMITS']);
  });

  it('are accepted in production with a key, rate limits and chains', () => {
    expect(wrongIn({ NODE_ENV: 'production', CHAINS: chains, MASTER_KEY: aKey })).toEqual([]);
  });

  it('are required beside those that have no use without them', () => {
    const bot = { MESSENGER_BOT_TOKEN: '1:a' };
    expect(wrongIn({ SMTP_URL: 'smtp://mail.example:587', ...bot })).toEqual([
      ...['MAIL_FROM', 'MESSENGER_BOT_NAME', 'MESSENGER_WEBHOOK_SECRET'],
    ]);
    const together = { ...bot, MESSENGER_BOT_NAME: 'annals_bot', MESSENGER_WEBHOOK_SECRET: 'a-b_c' };
    expect(wrongIn({ SMTP_URL: 'smtps://u:p%40ss@mail.example', MAIL_FROM: 'a@b.example', ...together })).toEqual([]);
  });

  it('are only required if the process needs them', () => {
    expect(wrongIn({ NODE_ENV: 'production' }, {})).toEqual([]);
    expect(wrongIn({}, { always: ['CHAINS'], inProduction: ['MASTER_KEY'] })).toEqual(['CHAINS']);
    expect(wrongIn({ NODE_ENV: 'production', CHAINS: chains }, { inProduction: ['MASTER_KEY'] })).toEqual([
      'MASTER_KEY',
    ]);
  });

  it('have a key of the edge, or the master key', () => {
    const wrong = (keys: object) =>
      wrongIn({ NODE_ENV: 'production', CHAINS: chains, ...keys }, requiredByService['event-catcher']);
    expect(wrong({})).toEqual(['EDGE_KEY']);
    expect([wrong({ EDGE_KEY: aKey }), wrong({ MASTER_KEY: aKey })]).toEqual([[], []]);
    expect(wrong({ EDGE_KEY: Buffer.alloc(32, 7).toString('base64') })).toEqual(['EDGE_KEY']);
  });
});
