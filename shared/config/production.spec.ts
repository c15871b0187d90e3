import { describe, expect, it } from '@jest/globals';
import { loadSettings, SettingsError } from './load-settings.ts';

const password = 'kM2vX0qLw9TzR4bN';
const valid = {
  NODE_ENV: 'production',
  CHAINS: JSON.stringify([{ chainId: 1, rpcUrls: ['http://127.0.0.1:1'] }]),
  MASTER_KEY: Buffer.from(Array.from({ length: 32 }, (_, index) => (index * 37) % 256)).toString('base64'),
  EVENTSTORE_URL: `esdb://annals:${password}@a:2113,b:2113,c:2113?tls=true`,
  KAFKA_BROKERS: 'a:9092,b:9092',
  KAFKA_SASL: JSON.stringify({ mechanism: 'scram-sha-512', username: 'annals', password }),
  KAFKA_ACKS: 'all',
  MONGO_URL: `mongodb://annals:${password}@a:1,b:2/?replicaSet=r&w=majority&journal=true`,
};

const refusals = (changes: NodeJS.ProcessEnv) => {
  try {
    loadSettings({ ...valid, ...changes });
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.wrong;
    throw error;
  }
};
const sasl = (password: string) => JSON.stringify({ mechanism: 'plain', username: 'annals', password });

describe('production', () => {
  it('accepts valid settings, and servers without passwords', () => {
    expect(refusals({})).toEqual([]);
    expect(refusals({ EVENTSTORE_URL: 'esdb://a:2113', MONGO_URL: 'mongodb://a', KAFKA_SASL: '' })).toEqual([]);
  });

  it.each([
    ['EVENTSTORE_URL', 'esdb://admin:changeit@a:2113'],
    ['EVENTSTORE_URL', 'esdb://ops:change%2dme@a:2113,b:2113'],
    ['KAFKA_SASL', sasl('Password123!')],
    ['KAFKA_SASL', sasl('annals')],
    ['KAFKA_SASL', sasl('annals-secret')],
    ['KAFKA_SASL', sasl('xxxxxxxxxxxx')],
    ['KAFKA_SASL', sasl('12345678')],
    ['KAFKA_SASL', sasl('<your-password>')],
    ['KAFKA_ACKS', '1'],
    ['KAFKA_ACKS', '0'],
    ['MONGO_URL', 'mongodb://root:example@a,b/?w=majority'],
    ['MONGO_URL', 'mongodb://a,b/?w=1'],
    ['MONGO_URL', 'mongodb://a/db?replicaSet=r&W=0'],
    ['MONGO_URL', 'mongodb://a/?w=majority&w=1'],
    ['MONGO_URL', 'mongodb://a/?w=3'],
    ['MONGO_URL', 'mongodb://a/?journal=false'],
    ['MASTER_KEY', Buffer.alloc(32, 7).toString('base64')],
    ['RATE_LIMITS', 'off'],
    ['RPC_DEBUG', 'on'],
    ['ACCOUNT_URL', 'http://accounts.example'],
    ['EVENT_URL', 'http://192.168.1.7:3001'],
    ['STREAM_URL', 'http://localhost.stream.example'],
  ])('refuses %s=%s, which development accepts', (name, value) => {
    const refused = refusals({ [name]: value });
    expect(refused.map((one) => one.name)).toEqual([name]);
    for (const part of ['changeit', 'secret', ...(value.length > 3 ? [value] : [])])
      expect(refused[0]?.message).not.toContain(part);
    expect(refusals({ [name]: value, NODE_ENV: 'development' })).toEqual([]);
  });

  it('accepts plain HTTP on a loopback address, where a proxy may be', () => {
    expect(refusals({ ACCOUNT_URL: 'http://127.0.0.1:3000', STREAM_URL: 'http://[::1]:3002' })).toEqual([]);
  });

  it('refuses credentials that the client would not send to EventStoreDB', () => {
    const messages = (query: string) =>
      refusals({ EVENTSTORE_URL: `esdb://annals:${password}@a:2113,b:2113/?${query}` }).map(({ message }) => message);
    for (const query of ['tls=false', 'TLS=false', 't_l-s=false', 'tls=true&tls=false'])
      expect(messages(query)).toEqual([
        'has credentials, which are not sent without TLS: set tls=true, or leave them out',
      ]);
    for (const query of ['', 'tls=true', 'tls=false&tls=true']) expect(messages(query)).toEqual([]);
    expect(refusals({ EVENTSTORE_URL: 'esdb://a:2113?tls=false' })).toEqual([]);
  });

  it('names every refused setting at once', () => {
    const wrong = {
      KAFKA_ACKS: '1',
      MONGO_URL: 'mongodb://a:admin@a/?w=1',
      EVENTSTORE_URL: 'esdb://admin:changeit@a:2113',
      KAFKA_SASL: sasl('admin'),
      MASTER_KEY: '',
      RATE_LIMITS: 'off',
      CHAINS: '',
    };
    const named = refusals(wrong).map(({ name }) => name);
    expect(named.toSorted()).toEqual([...Object.keys(wrong), 'MONGO_URL'].toSorted());
  });
});
