import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './ready.mjs';

/**
 * The creation code of the contracts that a chain is prepared with, from the package that only development installs; of
 * EntryPointSimulations, which is never deployed, the code that it would have on a chain.
 */
const contracts = ['EntryPoint', 'SimpleAccountFactory', 'VerifyingPaymaster'];
const require = createRequire(import.meta.url);
/** @type {(name: string) => { bytecode: string, deployedBytecode: string }} */
const artifact = (name) => require(`@account-abstraction/contracts/artifacts/${name}.json`);
const code = {
  ...Object.fromEntries(contracts.map((name) => [name, artifact(name).bytecode])),
  EntryPointSimulations: artifact('EntryPointSimulations').deployedBytecode,
};
writeFileSync(join(root, 'services/onchain/chain/contracts.json'), `${JSON.stringify(code, null, 2)}\n`);
