import { once } from 'node:events';
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../testing/processes/free-port.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { requireFreePorts, requireWritable, type PortToTake } from './preflight.ts';

describe('the ports of a start', () => {
  const server = createServer();
  let taken: number;
  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    taken = (server.address() as AddressInfo).port;
  });
  afterAll(() => {
    server.close();
  });
  const asked = (setting: PortToTake['setting'], port: PortToTake['port'], host = '127.0.0.1'): PortToTake => ({
    setting,
    host,
    port,
  });

  it.each(['ACCOUNT_PORT', 'EVENT_CATCHER_PORT', 'STREAM_PORT', 'METRICS_PORT', 'LOCAL_CHAIN_PORT'] as const)(
    'are named by their setting when another program has them: %s',
    async (setting) => {
      await expect(requireFreePorts([asked(setting, taken)])).rejects.toThrow(
        `port ${String(taken)} of 127.0.0.1 is in use: stop what uses it, or set ${setting} to another`,
      );
    },
  );

  it('are named by both settings when they are the same', async () => {
    const ports = [asked('ACCOUNT_PORT', 45_999), asked('METRICS_PORT', 'off'), asked('STREAM_PORT', 45_999)];
    await expect(requireFreePorts(ports)).rejects.toThrow('ACCOUNT_PORT and STREAM_PORT are both 45999');
  });

  it('cannot be taken at an address of another machine', async () => {
    await expect(requireFreePorts([asked('METRICS_PORT', 45_998, '192.0.2.1')])).rejects.toThrow(
      /192\.0\.2\.1 .* set HOST to one$/,
    );
  });

  it('are good when they are free, any free one, or none', async () => {
    const free = [asked('ACCOUNT_PORT', await freePort()), asked('EVENT_CATCHER_PORT', 0), asked('STREAM_PORT', 0)];
    await expect(requireFreePorts([...free, asked('METRICS_PORT', 'off')])).resolves.toBeUndefined();
  });
});

describe('the data folder of a start', () => {
  const folder = temporaryFolder();

  it('is made for its owner alone where it is not there', () => {
    requireWritable(join(folder, 'made', 'deep'));
    expect(statSync(join(folder, 'made', 'deep')).mode & 0o777).toBe(0o700);
  });

  it('stays as it is where it is there', () => {
    mkdirSync(join(folder, 'there'));
    chmodSync(join(folder, 'there'), 0o750);
    requireWritable(join(folder, 'there'));
    expect(statSync(join(folder, 'there')).mode & 0o777).toBe(0o750);
  });

  it.each(['file', 'file/below'])('cannot be a %s', (name) => {
    writeFileSync(join(folder, 'file'), '');
    expect(() => requireWritable(join(folder, name))).toThrow(/ set DATA_DIR to another$/);
  });
});
