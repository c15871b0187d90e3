import { describe, expect, it } from '@jest/globals';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { printable } from './config.commands.ts';

describe('annals config print', () => {
  it('shows every setting and no secret', () => {
    const MASTER_KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7)).toString('base64');
    const CHAINS = '[{"chainId":1,"rpcUrls":["https://rpc.example/hush"],"wsUrls":["wss://rpc.example/?key=hush"]}]';
    const printed = printable(loadSettings({ MASTER_KEY, CHAINS, HOST: '127.0.0.2' }));
    expect(printed).toContainEqual(
      expect.objectContaining({ name: 'HOST', value: '127.0.0.2', source: 'environment' }),
    );
    expect(printed).toContainEqual(expect.objectContaining({ name: 'ACCOUNT_PORT', value: 3000, source: 'default' }));
    const text = JSON.stringify(printed);
    expect(text).toContain('https://rpc.example/…');
    for (const secret of [MASTER_KEY, 'hush']) expect(text).not.toContain(secret);
  });
});
