import type { Spec } from '../list-specs.mjs';
import { servers } from '../test-servers.mjs';

/** What a suite needs beside its specs. */
export type Need = 'servers' | 'geth' | 'containers';

export interface Suite {
  name: string;
  about: string;
  /** How long the suite takes on two cores that do nothing else. */
  minutes: number;
  has: (spec: Spec) => boolean;
  needs?: Need;
  /** The settings of the suite. */
  environment?: Readonly<Record<string, string>>;
}

/** How much the specs draw at random, unless the caller says how much. */
export const DRAWS = { CASES: '1', SEEDS: '1000', SEEDS_EACH: '100', FUZZ_REQUESTS: '20000' };

const FAULTS = /\/(fault|vault)-tests\//;
const ATTACKS = /\/attacks\/|\/two-processes/;
const COMPOSITION = /\/composition\.long\.spec\.ts$/;
/** The text of a spec that starts its chain as geth, where there is a geth, or that needs a geth. */
const ON_GETH = /\bstartTestChain\b|whereServer\('GETH'/;
const ON_CHAINS = /\/services\/onchain\/.*\.int\.spec\.ts$/;

const has = (files: RegExp) => (spec: Spec) => files.test(spec.file);
const isIntegration = has(/\.int\.spec\.ts$/);
const isLong = has(/\.long\.spec\.ts$/);
const namesServer = ({ text }: Spec) => Object.keys(servers).some((setting) => text.includes(setting));

const atFork = (hardfork: string): Suite => ({
  name: hardfork,
  about: `specs on chains at the fork ${hardfork}`,
  minutes: 1,
  has: has(ON_CHAINS),
  environment: { HARDFORK: hardfork },
});

/** Every spec at its full size, in the order in which the suites run. */
export const suites: readonly Suite[] = [
  {
    name: 'unit',
    about: 'specs that start nothing, with every random case',
    minutes: 8,
    has: (spec) => !/\.(int|e2e|long)\.spec\.ts$/.test(spec.file),
  },
  {
    name: 'integration',
    about: 'specs with real files, servers and chains at osaka, with every random case',
    minutes: 6,
    has: isIntegration,
    needs: 'servers',
  },
  {
    name: 'end-to-end',
    about: 'specs of whole systems',
    minutes: 5,
    has: has(/\.e2e\.spec\.ts$/),
    needs: 'servers',
  },
  {
    name: 'long',
    about: 'several processes, reorganisations, faulty providers, wrong settings',
    minutes: 13,
    has: (spec) => isLong(spec) && ![FAULTS, ATTACKS, COMPOSITION].some((files) => files.test(spec.file)),
    needs: 'servers',
  },
  {
    name: 'faults',
    about: 'kills, outages, stops and lost keys',
    minutes: 15,
    has: (spec) => isLong(spec) && FAULTS.test(spec.file),
    needs: 'servers',
  },
  {
    name: 'attacks',
    about: 'every known attack at full size',
    minutes: 12,
    has: (spec) => isLong(spec) && ATTACKS.test(spec.file),
    needs: 'servers',
    environment: { ATTACK_SIZE: 'full' },
  },
  atFork('london'),
  atFork('prague'),
  {
    name: 'geth',
    about: 'specs on a real geth',
    minutes: 1,
    has: (spec) => isIntegration(spec) && ON_GETH.test(spec.text),
    needs: 'geth',
  },
  {
    name: 'containers',
    about: 'specs on servers in containers',
    minutes: 2,
    has: (spec) => isIntegration(spec) && namesServer(spec),
    needs: 'containers',
  },
  {
    name: 'composition',
    about: 'the main path on a Docker Compose of its own',
    minutes: 4,
    has: has(COMPOSITION),
    needs: 'containers',
    environment: { ANNALS_COMPOSE: '1' },
  },
];
