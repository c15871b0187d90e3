import { z } from 'zod';
import type { AnsweredOperation, DraftOperation } from '../../../schemas/rpc/rpc-operation.ts';
import { readAddress } from '../../../shared/chain/address.ts';
import { STUB_SIGNATURE } from '../domain/operation-hash.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import { invalidParams } from './rpc-error.ts';

export const quantityOf = (value: bigint | number): string => `0x${value.toString(16)}`;

/** @throws RpcError where a checksum is wrong */
export const addressOf = (member: string, text: string): string => {
  const address = readAddress(text);
  if (address === undefined) throw invalidParams(`${member} does not have its EIP-55 checksum`);
  return address;
};

const amountOf = (text: string | null | undefined): bigint => BigInt(text ?? 0);

/** Reads an operation: limits and fees that are missing are 0, a missing signature is a stub. @throws RpcError */
export const readOperation = (given: DraftOperation): UserOperation => {
  const { factory, factoryData, paymaster, paymasterData } = given;
  return {
    sender: addressOf('sender', given.sender),
    nonce: BigInt(given.nonce),
    factory: factory == null ? undefined : { address: addressOf('factory', factory), data: factoryData ?? '0x' },
    callData: given.callData,
    callGasLimit: amountOf(given.callGasLimit),
    verificationGasLimit: amountOf(given.verificationGasLimit),
    preVerificationGas: amountOf(given.preVerificationGas),
    maxFeePerGas: amountOf(given.maxFeePerGas),
    maxPriorityFeePerGas: amountOf(given.maxPriorityFeePerGas),
    paymaster:
      paymaster == null
        ? undefined
        : {
            address: addressOf('paymaster', paymaster),
            verificationGasLimit: amountOf(given.paymasterVerificationGasLimit),
            postOpGasLimit: amountOf(given.paymasterPostOpGasLimit),
            data: paymasterData ?? '0x',
          },
    signature: given.signature ?? STUB_SIGNATURE,
  };
};

export const answeredOperationOf = (operation: UserOperation): AnsweredOperation => {
  const { factory, paymaster } = operation;
  return {
    sender: operation.sender,
    nonce: quantityOf(operation.nonce),
    ...(factory && { factory: factory.address, factoryData: factory.data }),
    callData: operation.callData,
    callGasLimit: quantityOf(operation.callGasLimit),
    verificationGasLimit: quantityOf(operation.verificationGasLimit),
    preVerificationGas: quantityOf(operation.preVerificationGas),
    maxFeePerGas: quantityOf(operation.maxFeePerGas),
    maxPriorityFeePerGas: quantityOf(operation.maxPriorityFeePerGas),
    ...(paymaster && {
      paymaster: paymaster.address,
      paymasterVerificationGasLimit: quantityOf(paymaster.verificationGasLimit),
      paymasterPostOpGasLimit: quantityOf(paymaster.postOpGasLimit),
      paymasterData: paymaster.data,
    }),
    signature: operation.signature,
  };
};

/** Reads params by the schema of each. @throws RpcError */
export const readParams = <Shape extends Record<string, z.ZodType>>(
  shape: Shape,
  params: readonly unknown[],
): { [Param in keyof Shape]: z.output<Shape[Param]> } => {
  const names = Object.keys(shape);
  if (params.length > names.length) throw invalidParams(`there are ${String(names.length)} params`);
  const parsed = z.object(shape).safeParse(Object.fromEntries(params.map((param, at) => [names[at], param])));
  if (parsed.success) return parsed.data as { [Param in keyof Shape]: z.output<Shape[Param]> };
  const [issue] = parsed.error.issues;
  throw invalidParams(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'does not fit'}`);
};
