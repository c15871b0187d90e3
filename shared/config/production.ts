import type { SettingName, Settings } from './settings.ts';
import { readServerUrl } from './server-url.ts';

export interface WrongSetting {
  name: string;
  message: string;
}

/** What would be convenient while developing, and is dangerous where it counts. Values are left out. */
export const refusedInProduction = (settings: Partial<Settings>): WrongSetting[] =>
  settings.NODE_ENV === 'production'
    ? Object.entries(rules).flatMap(([name, rule]) => {
        const message = rule(settings);
        return message === undefined ? [] : [{ name, message }];
      })
    : [];

const WELL_KNOWN = 'has a password that anyone could guess';

const rules: { [Name in SettingName]?: (settings: Partial<Settings>) => string | undefined } = {
  EVENTSTORE_URL: ({ EVENTSTORE_URL }) => (hasWellKnownPassword(EVENTSTORE_URL) ? WELL_KNOWN : undefined),
  KAFKA_SASL: ({ KAFKA_SASL }) => (KAFKA_SASL && isWellKnown(KAFKA_SASL) ? WELL_KNOWN : undefined),
  KAFKA_ACKS: ({ KAFKA_ACKS }) =>
    KAFKA_ACKS === 'all' ? undefined : 'must be all in production: fewer replicas can lose what was acknowledged',
  MONGO_URL: ({ MONGO_URL }) =>
    hasWellKnownPassword(MONGO_URL)
      ? WELL_KNOWN
      : isWeak(MONGO_URL)
        ? 'lets a write count that can be lost: set w=majority, and leave journal=false out'
        : undefined,
  MASTER_KEY: ({ MASTER_KEY }) =>
    MASTER_KEY !== undefined && isPlaceholder(MASTER_KEY)
      ? 'is a placeholder; make one with: openssl rand -base64 32'
      : undefined,
  RATE_LIMITS: ({ RATE_LIMITS }) => (RATE_LIMITS === 'off' ? 'may be off in development only' : undefined),
};

const hasWellKnownPassword = (url: string | undefined): boolean => {
  const server = url === undefined ? undefined : readServerUrl(url);
  return server !== undefined && server.password !== '' && isWellKnown(server);
};

/** Every one counts: the driver takes the last, a reader the first. */
const isWeak = (mongoUrl: string | undefined): boolean =>
  (mongoUrl === undefined ? undefined : readServerUrl(mongoUrl))?.options.some(
    ([name, value]) => (name === 'w' && value !== 'majority') || (['j', 'journal'].includes(name) && value !== 'true'),
  ) ?? false;

/** First passwords of servers and of examples; case, a number at the end, what joins words and the user's name do not count. */
const GUESSED = new Set([
  ...['', 'admin', 'administrator', 'annals', 'changeit', 'changeme', 'default', 'eventstore', 'example', 'guest'],
  ...['hunter', 'kafka', 'letmein', 'mongo', 'mongodb', 'none', 'ops', 'pass', 'passwd', 'password', 'passwort'],
  ...['placeholder', 'pw', 'qwerty', 'replaceme', 'root', 'secret', 'todo', 'test', 'user', 'yourpassword'],
]);
const DIFFERENT_CHARACTERS_MIN = 5;

const isWellKnown = ({ username, password }: { username: string; password: string }): boolean =>
  GUESSED.has(wordsOf(password).replace(wordsOf(username), '')) || new Set(password).size < DIFFERENT_CHARACTERS_MIN;

const wordsOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\d]/gu, '')
    .replace(/\d{0,8}$/, '');

/** A key anyone could guess: one byte repeated, or text that somebody typed instead of making a key. */
const isPlaceholder = (key: string): boolean => {
  const bytes = Buffer.from(key, 'base64');
  return new Set(bytes).size < 8 || bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
};
