import { describe, expect, it, jest } from '@jest/globals';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { configCommand, printable } from './config.commands.ts';

describe('annals config print', () => {
  it('shows every setting and no secret', () => {
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

  it('shows the settings of one service in production, which is not given what another needs', async () => {
    const environment = jest.replaceProperty(process, 'env', { NODE_ENV: 'production', HOST: '127.0.0.3' });
    const said = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      await configCommand().parseAsync(['print', '--json'], { from: 'user' });
      expect(JSON.parse(String(said.mock.calls[0]?.[0]))).toContainEqual(
        expect.objectContaining({ name: 'HOST', value: '127.0.0.3' }),
      );
    } finally {
      said.mockRestore();
      environment.restore();
    }
  });
});
