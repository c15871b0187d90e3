import { Interface } from 'ethers';
import fc from 'fast-check';
import { expect, it } from '@jest/globals';
import { execute } from '../../testing/operations-on-chain.ethers.ts';
import { aCall, anAddress } from '../../testing/random-operation.ts';
import { createAccountData, executeCall } from './account-calls.ts';

const factory = new Interface(['function createAccount(address owner, uint256 salt)']);

it('the call of an account is written as ethers writes it', () => {
  fc.assert(
    fc.property(aCall, (call) => {
      expect(executeCall(call)).toBe(execute(call.to, call.value, call.data));
    }),
  );
});

it('the call of the factory is written as ethers writes it', () => {
  fc.assert(
    fc.property(anAddress, (owner) => {
      expect(createAccountData(owner)).toBe(factory.encodeFunctionData('createAccount', [owner, 0]));
    }),
  );
});
