import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { root } from '../../ready.mjs';
import type { Spec } from '../list-specs.mjs';
import { suites } from './suites.ts';

/** The suites that run specs once more, under other conditions. */
const REPEATING = ['london', 'prague', 'geth', 'containers'];

const allSpecs = (): readonly Spec[] => {
  const files = globSync('{deploy,schemas,services,shared}/**/*.spec.ts', { cwd: root });
  return files.map((file) => ({ file: join(root, file), text: readFileSync(join(root, file), 'utf8') }));
};
const namesOf = (spec: Spec): string[] => suites.filter(({ has }) => has(spec)).map(({ name }) => name);

describe('the suites of the full run', () => {
  it('have each spec file once, beside the suites that repeat specs under other conditions', () => {
    const specs = allSpecs();
    expect(specs.length).toBeGreaterThan(500);
    const notOnce = specs
      .map((spec) => ({ file: spec.file, in: namesOf(spec).filter((name) => !REPEATING.includes(name)) }))
      .filter((found) => found.in.length !== 1);
    expect(notOnce).toEqual([]);
  });

  it('have at least one spec file each', () => {
    const names = new Set(allSpecs().flatMap(namesOf));
    expect(suites.filter(({ name }) => !names.has(name))).toEqual([]);
  });

  it.each([
    ['/services/stream/stream.spec.ts', '', ['unit']],
    ['/services/onchain/sending/sends.int.spec.ts', 'startTestChain,', ['integration', 'london', 'prague', 'geth']],
    ['/services/onchain/gas/rollup-fees.int.spec.ts', '', ['integration', 'london', 'prague']],
    ['/shared/chain/real-geth.int.spec.ts', "whereServer('GETH', (geth) => {});", ['integration', 'geth']],
    ['/shared/bus.int.spec.ts', "whereServer('KAFKA_BROKERS', () => {});", ['integration', 'containers']],
    ['/services/standalone/attacks/floods.long.spec.ts', '', ['attacks']],
    ['/services/account/two-processes.long.spec.ts', '', ['attacks']],
    ['/services/standalone/fault-tests/kills.long.spec.ts', '', ['faults']],
    ['/services/standalone/end-to-end/composition.long.spec.ts', '', ['composition']],
  ])('run %s', (file, text, names) => {
    expect(namesOf({ file, text })).toEqual(names);
  });
});
