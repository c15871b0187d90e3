import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import configuration, { FEATURES } from '../../../.dependency-cruiser.mjs';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { cruise } from './cruise.mjs';

/** Each feature imports the next one, and the last what wires it. */
const upwards = Object.entries(FEATURES).flatMap(([service, features]) =>
  features.map((feature, at) => {
    const next = features[at + 1];
    const target = next === undefined ? `${service}.module.ts` : `${next}/planted.ts`;
    const file = `services/${service}/${feature}/upward.ts`;
    const imports = [`${'../'.repeat(feature.split('/').length)}${target}`];
    const rule = `${service}/${feature}-imports-features-below`;
    return { rule, target: `services/${service}/${target}`, violation: { file, imports } };
  }),
);

/** For each rule, a file that violates it and the modules that this file imports. */
const violations: Record<string, { file: string; imports: string[] }> = {
  'nothing-circular': { file: 'shared/circle/left.ts', imports: ['./right.ts'] },
  'no-orphans': { file: 'shared/orphan/alone.ts', imports: [] },
  'everything-resolves': { file: 'shared/lost/searching.ts', imports: ['./nowhere.ts'] },
  'domain-is-pure': { file: 'services/left/domain/impure.ts', imports: ['node:fs'] },
  'services-do-not-import-services': { file: 'services/left/nosy.module.ts', imports: ['../right/right.module.ts'] },
  'examples-do-not-import-services': {
    file: 'deploy/examples/left/nosy.ts',
    imports: ['../../../services/right/right.module.ts'],
  },
  'standalone-starts-services': { file: 'services/standalone/digging.ts', imports: ['../right/domain/rule.ts'] },
  'slices-do-not-import-slices': {
    file: 'services/left/one-slice/one.handler.ts',
    imports: ['../other-slice/other.ts'],
  },
  'slices-of-a-feature-do-not-import-each-other': {
    file: 'services/onchain/gas/one-slice/one.ts',
    imports: ['../other-slice/other.ts'],
  },
  'features-of-account-are-listed': { file: 'services/account/unlisted/new.ts', imports: ['node:fs'] },
  'features-of-onchain-are-listed': { file: 'services/onchain/unlisted/new.ts', imports: ['node:fs'] },
  'account-binds-onchain-to-its-ports': {
    file: 'services/account/login/nosy.ts',
    imports: ['../../onchain/onchain.module.ts'],
  },
  'onchain-does-not-import-services': {
    file: 'services/onchain/bundler/nosy.ts',
    imports: ['../../account/account.module.ts'],
  },
  ...Object.fromEntries(upwards.map(({ rule, violation }) => [rule, violation])),
  'dependencies-point-inwards': { file: 'services/left/one-slice/outward.handler.ts', imports: ['./one.http.ts'] },
  'framework-by-suffix': { file: 'services/left/one-slice/plain.ts', imports: ['@nestjs/common'] },
  'driver-sqlite-by-suffix': { file: 'services/left/one-slice/sqlite.ts', imports: ['node:sqlite'] },
  'driver-eventstoredb-by-suffix': { file: 'shared/store/store.ts', imports: ['@eventstore/db-client'] },
  'driver-kafka-by-suffix': { file: 'shared/bus/bus.ts', imports: ['kafkajs'] },
  'driver-mongodb-by-suffix': { file: 'shared/store/store.sqlite.ts', imports: ['mongodb'] },
  'driver-ethers-by-suffix': { file: 'services/left/one-slice/ethers.handler.ts', imports: ['ethers'] },
  'driver-viem-by-suffix': { file: 'services/left/one-slice/viem.ethers.ts', imports: ['viem/chains'] },
  'driver-secp256k1-by-suffix': { file: 'services/left/one-slice/curve.ethers.ts', imports: ['secp256k1'] },
  'driver-jose-by-suffix': { file: 'shared/token/token.ts', imports: ['jose'] },
  'driver-smtp-by-suffix': { file: 'services/left/one-slice/mail.handler.ts', imports: ['nodemailer'] },
  'driver-openid-by-suffix': { file: 'services/left/one-slice/openid.handler.ts', imports: ['openid-client'] },
  'driver-webauthn-by-suffix': { file: 'services/left/one-slice/passkey.ts', imports: ['@simplewebauthn/server'] },
  'driver-socketio-by-suffix': { file: 'services/left/one-slice/socket.http.ts', imports: ['socket.io'] },
  'adapters-are-bound-not-named': { file: 'shared/store/naming.ts', imports: ['./store.sqlite.ts'] },
  'schemas-import-only-zod': { file: 'schemas/reaching-out.ts', imports: ['../shared/tested/tested.ts'] },
  'edge-is-http-only': { file: 'shared/host/http.ts', imports: ['../edge/guard.ts'] },
  'framework-at-the-edge': { file: 'shared/host/framework.ts', imports: ['@nestjs/common'] },
  'read-models-are-below-the-rest-of-shared': {
    file: 'shared/read-models/reaching-up.ts',
    imports: ['../circle/left.ts'],
  },
  'shared-does-not-import-services': {
    file: 'shared/upward/upward.ts',
    imports: ['../../services/right/right.module.ts'],
  },
  'product-does-not-import-tests': { file: 'shared/tested/tested.ts', imports: ['../testing/builder.ts'] },
  'product-does-not-import-development-packages': { file: 'shared/tested/measured.ts', imports: ['jest'] },
};

/** The modules that the violating files import, with their own imports. */
const importedModules: Record<string, string[]> = {
  'shared/circle/right.ts': ['./left.ts'],
  'services/right/right.module.ts': ['@nestjs/common'],
  'services/right/domain/rule.ts': [],
  'services/left/other-slice/other.ts': [],
  'services/onchain/gas/other-slice/other.ts': [],
  ...Object.fromEntries(upwards.map(({ target }) => [target, []])),
  'services/left/one-slice/one.http.ts': ['@nestjs/common'],
  'shared/edge/guard.ts': [],
  'shared/testing/builder.ts': [],
};

const installed = [
  '@nestjs/common',
  '@simplewebauthn/server',
  'ethers',
  'jest',
  'jose',
  'mongodb',
  'nodemailer',
  'openid-client',
  'secp256k1',
  'socket.io',
  'viem',
];

const plant = (folder: string): void => {
  const write = (file: string, content: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), content);
  };
  const modules = [
    ...Object.entries(importedModules),
    ...Object.values(violations).map(({ file, imports }) => [file, imports] as const),
  ];
  for (const [file, imports] of modules) {
    write(file, `${imports.map((name) => `import '${name}';\n`).join('')}export const here = true;\n`);
  }
  for (const name of installed) {
    write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0', main: 'main.js' }));
    write(`node_modules/${name}/main.js`, '');
  }
  write('package.json', JSON.stringify({ type: 'module', devDependencies: { jest: '1.0.0' } }));
  write('tsconfig.json', '{}');
};

describe('the dependency rules', () => {
  const folder = temporaryFolder();
  let found: Awaited<ReturnType<typeof cruise>>['summary']['violations'];
  beforeAll(async () => {
    plant(folder);
    found = (await cruise(folder)).summary.violations;
  });

  it.each(configuration.forbidden.map(({ name }) => name))('%s catches the violation planted for it', (name) => {
    const planted = violations[name];
    expect(planted).toBeDefined();
    expect(found.filter(({ rule }) => rule.name === name).map(({ from }) => from)).toContain(planted?.file);
  });
});
