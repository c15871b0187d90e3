import { isIP } from 'node:net';
import { z } from 'zod';
import { quotas, type QuotaName } from '../../schemas/http/event-catcher/quotas.ts';
import { rateLimits, type RateLimitName } from '../../schemas/http/rate-limits.ts';
import { allTopics } from '../../schemas/topics.ts';
import { chainSettings } from './chain-settings.ts';
import { httpUrl } from './http-url.ts';
import { logWitnesses } from './log-witnesses.ts';
import { oauthProviderSettings } from './oauth-settings.ts';
import { readServerUrl } from './server-url.ts';

const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
const port = z.string().refine(isPort, 'is not a port: 0 to 65535').transform(Number);
/** Without a trailing slash: paths are appended, and `iss` is compared exactly. */
const baseUrl = httpUrl
  .refine((text) => !/[?#]/.test(text), 'has a query or a fragment')
  .transform((text) => text.replace(/\/+$/, ''))
  .optional();
const isAddressOrRange = (text: string): boolean => {
  const [address = '', bits = '0', ...rest] = text.split('/');
  const version = isIP(address);
  return version !== 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
};
const json = <Schema extends z.ZodType>(schema: Schema) =>
  z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({ code: 'custom', message: 'is not valid JSON' });
        return z.NEVER;
      }
    })
    .pipe(schema);

const kafkaSasl = z.object({
  mechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']),
  username: z.string().min(1),
  password: z.string().min(1),
});
export type KafkaSasl = z.infer<typeof kafkaSasl>;

/** kafkajs splits at the first colon, so it cannot read an IPv6 address. */
const isBroker = (text: string): boolean => {
  const [, host = '', portText = ''] = /^([\w.-]+):(\d{1,5})$/.exec(text) ?? [];
  return host !== '' && isPort(portText) && portText !== '0';
};
const listOf = (isPart: (text: string) => boolean, message: string) =>
  z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    )
    .refine((parts) => parts.every(isPart), message);
const serverUrl = (schemes: readonly [string, ...string[]]) =>
  z.string().refine((text) => schemes.includes(readServerUrl(text)?.scheme ?? ''), `is not a ${schemes[0]} URL`);
const isSmtpUrl = (text: string): boolean =>
  /^smtps?:$/.test(URL.parse(text)?.protocol ?? '') && URL.parse(text)?.hostname !== '';
/** A sender's name must not contain characters with a meaning in a mail header. */
const MAIL_SENDER = /^(?:[^\p{Cc}<>@,;:"\\]+ <[^\s<>@,;]+@[^\s<>@,;]+>|[^\s<>@,;]+@[^\s<>@,;]+)$/u;
const topicName = z.enum(allTopics.map(({ name }) => name) as [string, ...string[]]);

const rateLimit = z.object({ points: z.int().positive(), seconds: z.int().positive() });
const quotaName = z.enum(Object.keys(quotas) as [QuotaName, ...QuotaName[]]);
const rateLimitName = z.enum(Object.keys(rateLimits) as [RateLimitName, ...RateLimitName[]]);

interface SettingOptions {
  secret?: boolean | 'in URLs';
}
const setting = <Schema extends z.ZodType>(schema: Schema, meaning: string, options: SettingOptions = {}) => ({
  schema,
  meaning,
  secret: options.secret ?? false,
});

/** Every setting, in the order in which `annals config print` lists them. */
const key = z
  .base64({ abort: true })
  .refine((text) => Buffer.from(text, 'base64').length === 32, 'is not 32 bytes of base64');

export const settingDefinitions = {
  NODE_ENV: setting(
    z.enum(['development', 'test', 'production']).default('development'),
    'production refuses placeholder secrets and writes no development file',
  ),
  DATA_DIR: setting(z.string().min(1).default('.annals'), 'embedded stores, keys and dev.json'),
  HOST: setting(z.string().min(1).default('127.0.0.1'), 'address to listen on'),
  ACCOUNT_PORT: setting(port.default(3000), 'account service; 0: any free port'),
  EVENT_CATCHER_PORT: setting(port.default(3001), 'event catcher; 0: any free port'),
  STREAM_PORT: setting(port.default(3002), 'stream; 0: any free port'),
  ACCOUNT_URL: setting(baseUrl, "what clients are told, and the tokens' iss; default from host and port"),
  ACCOUNT_JWKS_URL: setting(
    httpUrl.optional(),
    "where other processes fetch the keys of the account's tokens; default below ACCOUNT_URL",
  ),
  EVENT_URL: setting(baseUrl, 'what clients are told; default from host and port'),
  STREAM_URL: setting(baseUrl, 'what clients are told; default from host and port'),
  METRICS_PORT: setting(
    z.union([z.literal('off'), port], 'is not a port: 0 to 65535, or off').default(9464),
    'metrics and health of this process; 0: any free port, off: none',
  ),
  EVENTSTORE_URL: setting(
    serverUrl(['esdb', 'esdb+discover']).optional(),
    'EventStoreDB, e.g. esdb://user:password@host:2113,host2:2113?tls=true; without it an embedded store in DATA_DIR',
    { secret: 'in URLs' },
  ),
  KAFKA_BROKERS: setting(
    listOf(isBroker, 'is not a list of host:port, where a host is a name or an IPv4 address')
      .refine((brokers) => brokers.length > 0, 'names no broker')
      .optional(),
    'Kafka, host:port separated by commas; without it an embedded bus in DATA_DIR',
  ),
  KAFKA_SASL: setting(json(kafkaSasl).optional(), 'JSON {mechanism, username, password}', { secret: true }),
  KAFKA_TLS: setting(z.string().min(1).optional(), 'true, or a file with the certificates to trust'),
  KAFKA_ACKS: setting(
    z.enum(['all', '1', '0']).default('all'),
    'replicas that must have a message before it counts as published; all in production',
  ),
  KAFKA_COMPRESSION: setting(
    z.enum(['zstd', 'gzip', 'none']).default('zstd'),
    'of what is published; gzip or none for consumers without zstd',
  ),
  TOPIC_PREFIX: setting(
    z
      .string()
      .regex(/^[\w.-]{0,64}$/, 'has characters that no topic may have')
      .default(''),
    'put before every topic name',
  ),
  TOPIC_PARTITIONS: setting(
    json(z.partialRecord(topicName, z.int().min(1).max(1_000))).default({}),
    'JSON {topic: count}, for topics that do not exist yet',
  ),
  MONGO_URL: setting(
    serverUrl(['mongodb', 'mongodb+srv']).optional(),
    'MongoDB, e.g. mongodb://user:password@host,host2/?replicaSet=r; without it an embedded read store in DATA_DIR',
    { secret: 'in URLs' },
  ),
  MONGO_DATABASE: setting(
    z
      .string()
      .regex(/^[\w-]{1,38}$/, 'is not a name of a database')
      .default('annals'),
    'database of the read models',
  ),
  CHAINS: setting(
    json(
      z
        .array(chainSettings)
        .min(1)
        .refine(
          (chains) => new Set(chains.map(({ chainId }) => chainId)).size === chains.length,
          'names a chain twice',
        ),
    ).optional(),
    'JSON list of chains; in development a local chain 2484',
    { secret: 'in URLs' },
  ),
  LOCAL_CHAIN_PORT: setting(port.default(8545), 'of the development chain; 0: any free port'),
  MASTER_KEY: setting(
    key.optional(),
    '32 bytes, base64: encrypts the key vault and what account keeps; made in DATA_DIR in development',
    { secret: true },
  ),
  EDGE_KEY: setting(
    key.optional(),
    '32 bytes, base64, the same for every service but projector: signs cursors, positions and messages; else MASTER_KEY does',
    { secret: true },
  ),
  TRUSTED_PROXIES: setting(
    listOf(isAddressOrRange, 'is not a list of addresses and ranges').default([]),
    'addresses or ranges whose forwarding headers are believed, separated by commas',
  ),
  RATE_LIMITS: setting(
    z.union([z.literal('off'), json(z.partialRecord(rateLimitName, rateLimit))]).default({}),
    'JSON {name: {points, seconds}}; off in development only',
  ),
  LOG_LEVEL: setting(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    "pino's levels",
  ),
  STOP_SECONDS: setting(
    z.coerce.number().positive().max(3_600).default(4.5),
    'how long a stop may take: a process that needs longer ends with exit code 1',
  ),
  DOCS: setting(z.enum(['on', 'off']).optional(), 'whether /docs is served; default on, in production off'),
  SEAL_SECONDS: setting(
    z.coerce.number().int().min(1).max(604_800).optional(),
    'how often the lengths of all histories are sealed in the log; default 3600, in development 10',
  ),
  VERIFY_SECONDS: setting(
    z
      .union(
        [z.literal('off'), z.coerce.number().int().min(1).max(31_536_000)],
        'is not a number of seconds from 1 to 31536000, or off',
      )
      .default(86_400),
    'how long after a read model was compared with its events it is compared again, in the background; off: only on demand',
  ),
  LOG_WITNESSES: setting(
    json(logWitnesses).default([]),
    'JSON [{url, vkey}]: witnesses that cosign the checkpoints of the transparency log, as annals audit witness --port is one',
  ),
  QUOTAS: setting(
    json(z.partialRecord(quotaName, z.int().nonnegative())).default({}),
    `JSON {name: number}: ${Object.keys(quotas).join(', ')}`,
  ),
  BUNDLER: setting(
    z.enum(['on', 'off']).default('on'),
    'whether annals account sends operations to the chains too; off where annals bundler does it alone',
  ),
  RPC_DEBUG: setting(z.enum(['on', 'off']).default('off'), 'debug_bundler_* over /rpc; not in production'),
  SMTP_URL: setting(
    z.string().refine(isSmtpUrl, 'is not an smtp or smtps URL').optional(),
    'mail server, smtp://user:password@host:port; without it development keeps mail in memory, production offers no login by email',
    { secret: 'in URLs' },
  ),
  MAIL_FROM: setting(
    z
      .string()
      .regex(MAIL_SENDER, 'is not an address, or a name and an address: Annals <no-reply@annals.example>')
      .optional(),
    'sender of mail, an address with or without a name before it',
  ),
  OAUTH_A: setting(
    json(oauthProviderSettings).optional(),
    'login provider oauth-a: JSON of an OpenID Connect issuer, or of OAuth 2 endpoints',
    { secret: true },
  ),
  OAUTH_B: setting(json(oauthProviderSettings).optional(), 'the same of oauth-b', { secret: true }),
  OAUTH_C: setting(json(oauthProviderSettings).optional(), 'the same of oauth-c', { secret: true }),
  MESSENGER_API_URL: setting(baseUrl.default('https://api.telegram.org'), "the messenger's Bot API"),
  MESSENGER_BOT_TOKEN: setting(
    z
      .string()
      .regex(/^[\w:-]{1,128}$/, 'has characters that no token has')
      .optional(),
    'of the bot; without it development keeps its messages in memory, production offers no login by messenger',
    { secret: true },
  ),
  MESSENGER_BOT_NAME: setting(
    z
      .string()
      .regex(/^\w{1,64}$/, 'is not the name of a bot, without @')
      .optional(),
    'of the bot, without @',
  ),
  MESSENGER_WEBHOOK_SECRET: setting(
    z
      .string()
      .regex(/^[\w-]{1,256}$/, 'is not 1 to 256 of A-Z, a-z, 0-9, _ and -')
      .optional(),
    'what the messenger sends with each call of the webhook',
    { secret: true },
  ),
} as const satisfies Record<string, ReturnType<typeof setting>>;

export type SettingName = keyof typeof settingDefinitions;
export type Settings = { [Name in SettingName]: z.infer<(typeof settingDefinitions)[Name]['schema']> };
