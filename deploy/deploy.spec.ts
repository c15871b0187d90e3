import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../shared/testing/temporary-folder.ts';
import { freePort } from '../shared/testing/processes/free-port.ts';
import { servers } from '../shared/tooling/specs/test-servers.mjs';

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

describe('docker-compose.yml', () => {
  it('has no setting in the default of another, which docker-compose 1.29 cuts off', () => {
    expect(files.filter((file) => /\$\{[^}]*\$\{/.test(textOf(file)))).toEqual([]);
  });

  const anchors = new Map(
    Array.from(
      textOf('docker-compose.yml').matchAll(/^x-[\w-]+: &([\w-]+)\n((?: .*\n)*)/gm),
      ([, name = '', body = '']) => [name, body],
    ),
  );
  /** The part of a service, with every part that it merges. */
  const settingsOf = (service: string): string => {
    const [, own = ''] = new RegExp(`^  ${service}:\n((?:    .*\n)+)`, 'm').exec(textOf('docker-compose.yml')) ?? [];
    const merged = (part: string): string =>
      part + Array.from(part.matchAll(/\*([\w-]+)/g), ([, name = '']) => merged(anchors.get(name) ?? '')).join('');
    return merged(own);
  };

  it.each(['event-catcher', 'relay', 'stream'])('gives %s no key and no user that opens the key vault', (service) => {
    expect(settingsOf(service)).toContain('EDGE_KEY: ${EDGE_KEY');
    expect(settingsOf(service)).not.toMatch(/MASTER_KEY|MONGO_PASSWORD|MONGO_VAULT_PASSWORD/);
  });

  it.each(['account', 'projector'])('gives %s both', (service) => {
    expect(settingsOf(service)).toContain('MASTER_KEY: ${MASTER_KEY');
    expect(settingsOf(service)).toContain('${MONGO_VAULT_PASSWORD');
    expect(settingsOf(service)).not.toContain('${MONGO_PASSWORD');
  });
});

describe('deploy/make-secrets', () => {
  const folder = temporaryFolder();

  it('makes what is missing, and changes nothing that is there', () => {
    mkdirSync(join(folder, 'deploy'));
    copyFileSync(join(import.meta.dirname, 'make-secrets'), join(folder, 'deploy', 'make-secrets'));
    const make = () => {
      execFileSync('sh', [join(folder, 'deploy', 'make-secrets')], { stdio: ['ignore', 'ignore', 'inherit'] });
      return readFileSync(join(folder, '.env'), 'utf8');
    };
    writeFileSync(join(folder, '.env'), 'MASTER_KEY=mine\nACCOUNT_URL=https://account.example');
    const made = make();
    expect(made).toMatch(/^MASTER_KEY=mine\nACCOUNT_URL=https:\/\/account\.example\nEDGE_KEY=[\w+/]{43}=\n/);
    const secrets = new Set(
      Array.from(textOf('docker-compose.yml').matchAll(/\$\{(\w+):\?make it/g), ([, name = '']) => name),
    );
    for (const name of secrets) expect(made).toMatch(new RegExp(`^${name}=.+$`, 'm'));
    expect(make()).toBe(made);
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
