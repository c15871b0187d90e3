import { AbiCoder, concat, Interface, toBeHex } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { anAddress, anOperation, someBytes } from '../../testing/random-operation.ts';
import {
  encodeHandleOps,
  encodeSimulateHandleOp,
  initCode,
  packedOperation,
  paymasterAndData,
} from './operation-encoding.ts';
import type { UserOperation } from './user-operation.ts';

const TUPLE = '(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)';
const entryPoint = new Interface([
  `function handleOps(${TUPLE}[],address)`,
  `function simulateHandleOp(${TUPLE},address,bytes)`,
]);
const halves = (first: bigint, second: bigint) => concat([toBeHex(first, 16), toBeHex(second, 16)]);
const byEthers = (operation: UserOperation) => {
  const { factory, paymaster } = operation;
  return [
    operation.sender,
    operation.nonce,
    factory ? concat([factory.address, factory.data]) : '0x',
    operation.callData,
    halves(operation.verificationGasLimit, operation.callGasLimit),
    operation.preVerificationGas,
    halves(operation.maxPriorityFeePerGas, operation.maxFeePerGas),
    paymaster
      ? concat([paymaster.address, halves(paymaster.verificationGasLimit, paymaster.postOpGasLimit), paymaster.data])
      : '0x',
    operation.signature,
  ];
};

describe('an encoded operation', () => {
  it('is what ethers makes of it', () => {
    fc.assert(
      fc.property(anOperation, (operation) => {
        const packed = byEthers(operation);
        const offset = 64;
        expect(packedOperation(operation)).toBe(
          AbiCoder.defaultAbiCoder()
            .encode([`tuple${TUPLE}`], [packed])
            .slice(2 + offset),
        );
        expect([initCode(operation), paymasterAndData(operation)]).toEqual([packed[2], packed[7]]);
      }),
    );
  });

  it('stands among others in the call data of a bundle', () => {
    fc.assert(
      fc.property(fc.array(anOperation, { maxLength: 5 }), anAddress, (operations, beneficiary) => {
        const expected = entryPoint.encodeFunctionData('handleOps', [operations.map(byEthers), beneficiary]);
        expect(encodeHandleOps(operations, beneficiary)).toBe(expected);
      }),
    );
  });

  it('stands in the call data of its simulation', () => {
    fc.assert(
      fc.property(anOperation, anAddress, someBytes(100), (operation, target, data) => {
        const expected = entryPoint.encodeFunctionData('simulateHandleOp', [byEthers(operation), target, data]);
        expect(encodeSimulateHandleOp(operation, target, data)).toBe(expected);
      }),
    );
  });
});
