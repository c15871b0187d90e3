import { describe, expect, it, jest } from '@jest/globals';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { configCommand, printable } from './config.commands.ts';

const config = async (args: string[], variables: Record<string, string>) => {
  const environment = jest.replaceProperty(process, 'env', variables);
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await configCommand().parseAsync(args, { from: 'user' });
    return { output: write.mock.calls.map(([text]) => String(text)).join(''), exitCode: process.exitCode ?? 0 };
  } finally {
    process.exitCode = 0;
    write.mockRestore();
    environment.restore();
  }
};

describe('annals config print', () => {
  it('prints every setting and no secret', () => {
    const MASTER_KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7)).toString('base64');
    const CHAINS = '[{"chainId":1,"rpcUrls":["https://rpc.example/hush"],"wsUrls":["wss://rpc.example/?key=hush"]}]';
    const engines = {
      EVENTSTORE_URL: 'esdb://admin:hush@a:2113,b:2113?tls=false',
      MONGO_URL: 'mongodb://admin:hush@a:1,b:2/?replicaSet=r',
      KAFKA_BROKERS: 'a:9092,b:9092',
      KAFKA_SASL: '{"mechanism":"plain","username":"admin","password":"hush"}',
    };
    const printed = printable(loadSettings({ MASTER_KEY, CHAINS, HOST: '127.0.0.2', ...engines }));
    expect(printed).toContainEqual(
      expect.objectContaining({ name: 'HOST', value: '127.0.0.2', source: 'environment' }),
    );
    expect(printed).toContainEqual(expect.objectContaining({ name: 'ACCOUNT_PORT', value: 3000, source: 'default' }));
    const text = JSON.stringify(printed);
    for (const shown of [
      'https://rpc.example/…',
      'esdb://a:2113,b:2113/…',
      'mongodb://a:1,b:2/…',
      '["a:9092","b:9092"]',
    ])
      expect(text).toContain(shown);
    for (const secret of [MASTER_KEY, 'hush']) expect(text).not.toContain(secret);
  });

  it('prints the settings in production too when some that a service requires are missing', async () => {
    const { output } = await config(['print', '--json'], { NODE_ENV: 'production', HOST: '127.0.0.3' });
    expect(JSON.parse(output)).toContainEqual(expect.objectContaining({ name: 'HOST', value: '127.0.0.3' }));
  });
});

describe('annals config check', () => {
  it('prints that every setting is valid', async () => {
    expect(await config(['check'], { HOST: '127.0.0.3' })).toEqual({ output: 'every setting is valid\n', exitCode: 0 });
  });

  it('names every setting that is not valid, and exits with 1', async () => {
    const environment = { ACCOUNT_PORT: 'x', RATE_LIMITS: '{"logins":{"points":1,"seconds":1}}' };
    expect(await config(['check'], environment)).toEqual({
      output: expect.stringMatching(/^ACCOUNT_PORT .*\nRATE_LIMITS .*\n$/) as unknown,
      exitCode: 1,
    });
    const { output, exitCode } = await config(['check', '--json'], environment);
    expect(JSON.parse(output)).toMatchObject({ ok: false, wrong: [{ name: 'ACCOUNT_PORT' }, { name: 'RATE_LIMITS' }] });
    expect(exitCode).toBe(1);
  });

  it.each([
    ['relay', ['EDGE_KEY']],
    ['projector', ['MASTER_KEY']],
    ['stream', ['EDGE_KEY']],
    ['account', ['MASTER_KEY']],
    ['event-catcher', ['CHAINS', 'EDGE_KEY']],
  ])('names what %s requires in production, and nothing that others require', async (service, required) => {
    const { output, exitCode } = await config(['check', service, '--json'], { NODE_ENV: 'production' });
    const { wrong } = JSON.parse(output) as { wrong: { name: string }[] };
    expect(wrong.map(({ name }) => name)).toEqual(required);
    expect(exitCode).toBe(required.length === 0 ? 0 : 1);
  });

  it('names a settings file that cannot be read, and no setting that is missing because of that', async () => {
    const { output } = await config(['check', '--json'], { NODE_ENV: 'production', ANNALS_ENV_FILE: '/no/such/file' });
    expect(JSON.parse(output)).toMatchObject({ wrong: [{ name: 'ANNALS_ENV_FILE' }] });
  });
});
