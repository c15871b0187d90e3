import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './ready.mjs';

/** The creation code of the contracts that a chain is prepared with, from the package that only development installs. */
const contracts = ['EntryPoint', 'SimpleAccountFactory', 'VerifyingPaymaster'];
const require = createRequire(import.meta.url);
const code = Object.fromEntries(
  contracts.map((name) => {
    /** @type {{ bytecode: string }} */
    const artifact = require(`@account-abstraction/contracts/artifacts/${name}.json`);
    return [name, artifact.bytecode];
  }),
);
writeFileSync(join(root, 'services/account/prepare-chain/contracts.json'), `${JSON.stringify(code, null, 2)}\n`);
