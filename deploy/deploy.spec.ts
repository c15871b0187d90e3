import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '../shared/testing/free-port.ts';
import { servers } from '../shared/tooling/test-servers.mjs';

const textOf = (file: string): string => readFileSync(join(import.meta.dirname, '..', file), 'utf8');
const files = ['docker-compose.yml', 'deploy/compose.stand-in.yml', 'deploy/Dockerfile'];

/** The images that are used if their setting is not set. */
const defaults = files.flatMap((file) =>
  Array.from(textOf(file).matchAll(/\$\{(\w+_IMAGE):-([^}]+)\}|^ARG (\w+_IMAGE)=(.+)$/gm), (found) => ({
    file,
    setting: found[1] ?? found[3] ?? '',
    image: found[2] ?? found[4] ?? '',
  })),
);
const defaultsOf = (setting: string) => defaults.filter((one) => one.setting === setting).map(({ image }) => image);

describe('a default image', () => {
  it.each(defaults.filter(({ image }) => !image.startsWith('annals:')))(
    'of $setting in $file has a fixed version',
    ({ image }) => {
      expect(image).toMatch(/:v?\d+\.\d+\.\d+(-\w+)*$/);
    },
  );

  it('has the Node version of npm start', () => {
    const { optionalDependencies } = JSON.parse(textOf('.node/package.json')) as { optionalDependencies: object };
    const versions = new Set(Object.values(optionalDependencies) as string[]);
    expect(new Set(defaultsOf('NODE_IMAGE'))).toEqual(
      new Set(Array.from(versions, (version) => `node:${version}-bookworm-slim`)),
    );
  });

  it.each(Object.values(servers))('of $imageSetting is the one that the specs use', ({ imageSetting, image }) => {
    expect(defaultsOf(imageSetting)).toContain(image);
  });
});

describe('deploy/README.md', () => {
  const variables = new Set(Array.from(textOf('docker-compose.yml').matchAll(/\$\{(\w+)/g), ([, name = '']) => name));

  it.each([...variables])('describes %s', (name) => {
    expect(textOf('deploy/README.md')).toContain(`\`${name}\``);
  });
});

describe("the image's health check", () => {
  const [, words = ''] = /HEALTHCHECK[^[]*CMD (\[.*\])/.exec(textOf('deploy/Dockerfile').replaceAll('\\\n', '')) ?? [];
  const [, ...args] = JSON.parse(words) as ['node', ...string[]];
  const check = (METRICS_PORT: string | undefined) =>
    promisify(execFile)(process.execPath, args, { env: { METRICS_PORT } });

  it.each(['off', '0'])('succeeds without a request when METRICS_PORT is %s', async (port) => {
    await check(port);
  });

  it('succeeds if /health/live at METRICS_PORT does', async () => {
    let status = 200;
    const requested: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      requested.push(request.url);
      response.writeHead(status).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const port = String((server.address() as AddressInfo).port);
    await check(port);
    expect(requested).toEqual(['/health/live']);
    status = 503;
    await expect(check(port)).rejects.toThrow();
    server.close();
    await expect(check(String(await freePort()))).rejects.toThrow();
  });
});
