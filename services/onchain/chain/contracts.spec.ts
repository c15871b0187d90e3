import { createRequire } from 'node:module';
import { expect, it } from '@jest/globals';
import { contractCode, type ContractName } from './contracts.ts';

const require = createRequire(import.meta.url);

it.each<ContractName>(['EntryPoint', 'SimpleAccountFactory', 'VerifyingPaymaster'])(
  'the code of %s is that of @account-abstraction/contracts 0.7.0; npm run contracts writes it anew',
  (name) => {
    const artifact = require(`@account-abstraction/contracts/artifacts/${name}.json`) as { bytecode: string };
    expect(contractCode[name]).toBe(artifact.bytecode);
  },
);

it('the code of EntryPointSimulations is the one that it would have on a chain', () => {
  const artifact = require('@account-abstraction/contracts/artifacts/EntryPointSimulations.json') as {
    deployedBytecode: string;
  };
  expect(contractCode.EntryPointSimulations).toBe(artifact.deployedBytecode);
});
