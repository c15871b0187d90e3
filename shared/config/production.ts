import type { SettingName, Settings } from './settings.ts';
import { isLoopback } from '../primitives/loopback.ts';
import { isInsecure } from './oauth-settings.ts';
import { readServerUrl } from './server-url.ts';
import { hasUnsentCredentials } from './unsent-credentials.ts';

export interface WrongSetting {
  name: string;
  message: string;
}

/** Names the settings that are allowed in development but dangerous in production, without their values. */
export const refusedInProduction = (settings: Partial<Settings>): WrongSetting[] =>
  settings.NODE_ENV === 'production'
    ? rules.filter(({ applies }) => applies(settings)).map(({ name, message }) => ({ name, message }))
    : [];

interface Rule {
  name: SettingName;
  message: string;
  applies: (settings: Partial<Settings>) => boolean;
}

const PLACEHOLDER_KEY = 'is a placeholder; create one with: openssl rand -base64 32';
const GUESSABLE = 'has a password that anyone could guess';
const rules: readonly Rule[] = [
  { name: 'EVENTSTORE_URL', message: GUESSABLE, applies: ({ EVENTSTORE_URL }) => hasGuessablePassword(EVENTSTORE_URL) },
  {
    name: 'EVENTSTORE_URL',
    message: 'has credentials, which are not sent without TLS: set tls=true, or leave them out',
    applies: ({ EVENTSTORE_URL }) => EVENTSTORE_URL !== undefined && hasUnsentCredentials(EVENTSTORE_URL),
  },
  { name: 'KAFKA_SASL', message: GUESSABLE, applies: ({ KAFKA_SASL }) => !!KAFKA_SASL && isGuessable(KAFKA_SASL) },
  {
    name: 'KAFKA_ACKS',
    message: 'must be all in production: fewer replicas can lose what was acknowledged',
    applies: ({ KAFKA_ACKS }) => KAFKA_ACKS !== 'all',
  },
  { name: 'MONGO_URL', message: GUESSABLE, applies: ({ MONGO_URL }) => hasGuessablePassword(MONGO_URL) },
  {
    name: 'MONGO_URL',
    message: 'acknowledges writes that can be lost: set w=majority, and remove journal=false',
    applies: ({ MONGO_URL }) => isWeak(MONGO_URL),
  },
  {
    name: 'MASTER_KEY',
    message: PLACEHOLDER_KEY,
    applies: ({ MASTER_KEY }) => MASTER_KEY !== undefined && isPlaceholder(MASTER_KEY),
  },
  ...(['ACCOUNT_URL', 'EVENT_URL', 'STREAM_URL'] as const).map((name) => ({
    name,
    message: 'must be https in production, where tokens are sent to it: only a loopback address may be http',
    applies: (settings: Partial<Settings>) => isPlainHttp(settings[name]),
  })),
  {
    name: 'EDGE_KEY',
    message: PLACEHOLDER_KEY,
    applies: ({ EDGE_KEY }) => EDGE_KEY !== undefined && isPlaceholder(EDGE_KEY),
  },
  {
    name: 'RATE_LIMITS',
    message: 'may be off in development only',
    applies: ({ RATE_LIMITS }) => RATE_LIMITS === 'off',
  },
  {
    name: 'RPC_DEBUG',
    message: "must be off in production: any signed-in user could stop everybody's operations",
    applies: ({ RPC_DEBUG }) => RPC_DEBUG === 'on',
  },
  ...(['OAUTH_A', 'OAUTH_B', 'OAUTH_C'] as const).map((name) => ({
    name,
    message: 'has a URL that is not https',
    applies: (settings: Partial<Settings>) => {
      const provider = settings[name];
      return provider !== undefined && isInsecure(provider);
    },
  })),
];

const isPlainHttp = (text: string | undefined): boolean => {
  const url = text === undefined ? null : URL.parse(text);
  return url?.protocol === 'http:' && !isLoopback(url.hostname);
};

const hasGuessablePassword = (url: string | undefined): boolean => {
  const server = url === undefined ? undefined : readServerUrl(url);
  return server !== undefined && server.password !== '' && isGuessable(server);
};

/** Whether MongoDB could lose an acknowledged write. If an option is given twice, both values count. */
const isWeak = (mongoUrl: string | undefined): boolean =>
  (mongoUrl === undefined ? undefined : readServerUrl(mongoUrl))?.options.some(
    ([name, value]) => (name === 'w' && value !== 'majority') || (['j', 'journal'].includes(name) && value !== 'true'),
  ) ?? false;

/**
 * Default passwords of servers and examples. Compared without case, separators, a number at the end and the user name.
 */
const GUESSED = new Set([
  ...['', 'admin', 'administrator', 'annals', 'changeit', 'changeme', 'default', 'eventstore', 'example', 'guest'],
  ...['hunter', 'kafka', 'letmein', 'mongo', 'mongodb', 'none', 'ops', 'pass', 'passwd', 'password', 'passwort'],
  ...['placeholder', 'pw', 'qwerty', 'replaceme', 'root', 'secret', 'todo', 'test', 'user', 'yourpassword'],
]);
const DIFFERENT_CHARACTERS_MIN = 5;

const isGuessable = ({ username, password }: { username: string; password: string }): boolean => {
  const words = wordsOf(password);
  const isGuessed = GUESSED.has(words) || GUESSED.has(words.replace(wordsOf(username), ''));
  return isGuessed || new Set(password).size < DIFFERENT_CHARACTERS_MIN;
};

const wordsOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\d]/gu, '')
    .replace(/\d{0,8}$/, '');

/** Whether a key can be guessed: it repeats few bytes, or is text that somebody typed. */
const isPlaceholder = (key: string): boolean => {
  const bytes = Buffer.from(key, 'base64');
  return new Set(bytes).size < 8 || bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
};
