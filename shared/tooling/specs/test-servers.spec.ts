import { describe, expect, it } from '@jest/globals';
import { missingServers, skippedSuites, startServers, type StartServer } from './test-servers.mjs';

const KAFKA_SPEC = "whereServer('KAFKA_BROKERS', (brokers) => {});";
const MONGO_SPEC = "whereServer('MONGO_URL', (url) => {});";

/** A container engine that has one image, and records which servers run. */
const engineWith = (known: string) => {
  const running: string[] = [];
  const start: StartServer = (setting, image) => {
    if (image !== known) return Promise.reject(new Error('(HTTP code 500) server error - no such\nhost '));
    running.push(setting);
    return Promise.resolve({
      url: 'mongodb://127.0.0.1:1',
      stop: () => Promise.resolve(running.splice(running.indexOf(setting), 1)),
    });
  };
  return { running, start };
};

describe('the servers that specs need', () => {
  it('are missing if a selected spec names their setting and that is not set', () => {
    expect(missingServers([KAFKA_SPEC, MONGO_SPEC], {})).toEqual(['KAFKA_BROKERS', 'MONGO_URL']);
    expect(missingServers([KAFKA_SPEC, MONGO_SPEC], { KAFKA_BROKERS: 'broker:9092' })).toEqual(['MONGO_URL']);
    expect(missingServers([KAFKA_SPEC], {})).toEqual(['KAFKA_BROKERS']);
    expect(missingServers(['expect(1).toBe(1)'], {})).toEqual([]);
  });

  it('are reported as missing, one line each, if there is no container engine', async () => {
    const lines: string[] = [];
    const options = { environment: {}, start: undefined, print: (line: string) => lines.push(line) };
    const { settings, stop } = await startServers(['KAFKA_BROKERS', 'EVENTSTORE_URL'], options);
    expect(settings).toEqual({});
    expect(lines).toEqual([
      'No KAFKA_BROKERS and no container engine: specs on Kafka are skipped. Set KAFKA_BROKERS, or start Docker.',
      'No EVENTSTORE_URL and no container engine: specs on EventStoreDB run on its stand-in. Set EVENTSTORE_URL, or start Docker.',
    ]);
    await stop();
  });

  it('are started from the image that the environment names, and stopped', async () => {
    const engine = engineWith('my/mongo:1');
    const lines: string[] = [];
    const { settings, stop } = await startServers(['KAFKA_BROKERS', 'MONGO_URL'], {
      environment: { MONGO_IMAGE: 'my/mongo:1' },
      start: engine.start,
      print: (line) => lines.push(line),
    });
    expect(settings).toEqual({ MONGO_URL: 'mongodb://127.0.0.1:1' });
    expect(engine.running).toEqual(['MONGO_URL']);
    expect(lines.toSorted()).toEqual([
      'MONGO_URL=mongodb://127.0.0.1:1 is a container of my/mongo:1.',
      'No KAFKA_BROKERS, and no server starts from the image apache/kafka:4.1.0 (no such host): specs on Kafka are skipped. Set KAFKA_BROKERS, or KAFKA_IMAGE.',
    ]);
    await stop();
    expect(engine.running).toEqual([]);
  });
});

describe('the suites that need a setting', () => {
  const FAULTS_SPEC = "whereServer('TEST_SERVERS', () => {});";
  const GETH_SPEC = "whereServer('GETH', () => {});";
  const ANVIL_SPEC = "onAnvil(it)('sets code', () => startTestChain(folder));";
  const COMPOSE_SPEC = "if (process.env['ANNALS_COMPOSE'] === '1') {}";

  it('are reported as skipped, one line each, if they are selected and their setting is not set', () => {
    expect(skippedSuites([FAULTS_SPEC, FAULTS_SPEC, COMPOSE_SPEC], {})).toEqual([
      'No TEST_SERVERS: specs that stop and start a server are skipped. docs/testing.md says how to set it.',
      'The suite on a composition is skipped. npm run test:all -- composition runs it.',
    ]);
    expect(skippedSuites([KAFKA_SPEC, ANVIL_SPEC], {})).toEqual([]);
    expect(skippedSuites([FAULTS_SPEC, COMPOSE_SPEC], { TEST_SERVERS: '/servers', ANNALS_COMPOSE: '1' })).toEqual([]);
  });

  it('are reported for geth: the specs that need it, or else the tests that only anvil can run', () => {
    expect(skippedSuites([GETH_SPEC, ANVIL_SPEC], {})).toEqual([
      'No GETH: specs that need a real geth are skipped. docs/testing.md says how to set it.',
    ]);
    expect(skippedSuites([GETH_SPEC, ANVIL_SPEC], { GETH: '/bin/geth' })).toEqual([
      'With GETH, tests that write code or lower a balance are skipped: on a real chain only transactions change the state.',
    ]);
    expect(skippedSuites([GETH_SPEC], { GETH: '/bin/geth' })).toEqual([]);
  });
});
