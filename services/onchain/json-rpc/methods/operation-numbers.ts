import { z } from 'zod';
import type { AnsweredOperation, DraftOperation, StateOverride } from '../../../schemas/rpc/rpc-operation.ts';
import { readAddress } from '../../../shared/chain/address.ts';
import { plainText } from '../../../shared/errors/plain-text.ts';
import { safeParse } from '../../../shared/primitives/safe-parse.ts';
import { STUB_SIGNATURE } from '../domain/operation-hash.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import { invalidParams } from './rpc-error.ts';

export const quantityOf = (value: bigint | number): string => `0x${value.toString(16)}`;

/** @throws RpcError where a checksum is wrong */
export const addressOf = (member: string, text: string): string => {
  const address = readAddress(text);
  if (address === undefined) throw invalidParams(`${member}: does not have its EIP-55 checksum`);
  return address;
};

const amountOf = (text: string | null | undefined): bigint => BigInt(text ?? 0);

/** Reads an operation: limits and fees that are missing are 0, a missing signature is a stub. @throws RpcError */
export const readOperation = (given: DraftOperation): UserOperation => {
  const { factory, factoryData, paymaster, paymasterData } = given;
  requireWhoseDataItIs('factory', factory, factoryData);
  requireWhoseDataItIs('paymaster', paymaster, paymasterData);
  return {
    sender: addressOf('userOperation.sender', given.sender),
    nonce: BigInt(given.nonce),
    factory:
      factory == null ? undefined : { address: addressOf('userOperation.factory', factory), data: factoryData ?? '0x' },
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
            address: addressOf('userOperation.paymaster', paymaster),
            verificationGasLimit: amountOf(given.paymasterVerificationGasLimit),
            postOpGasLimit: amountOf(given.paymasterPostOpGasLimit),
            data: paymasterData ?? '0x',
          },
    signature: given.signature ?? STUB_SIGNATURE,
  };
};

type Given = string | null | undefined;
/** Data that no contract is given would be left out, and the operation be another. */
const requireWhoseDataItIs = (member: 'factory' | 'paymaster', address: Given, data: Given): void => {
  if (address == null && (data ?? '0x') !== '0x')
    throw invalidParams(`userOperation.${member}: is missing, and ${member}Data is there`);
};

/** Reads a state override set, with amounts as every node takes them. @throws RpcError */
export const readStateOverride = (given: StateOverride): StateOverride => {
  const read = new Map<string, StateOverride[string]>();
  for (const [text, { balance, nonce, ...rest }] of Object.entries(given)) {
    const address = addressOf(`stateOverride.${text}`, text);
    if (read.has(address)) throw invalidParams(`stateOverride.${text}: is there twice`);
    read.set(address, {
      ...rest,
      ...(balance !== undefined && { balance: quantityOf(BigInt(balance)) }),
      ...(nonce !== undefined && { nonce: quantityOf(BigInt(nonce)) }),
    });
  }
  return Object.fromEntries(read);
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

/** Of a key the schema that it has to fit says why. */
const sentenceOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'invalid_key' ? `its name ${issue.issues[0]?.message ?? 'does not fit'}` : issue.message;

/** Reads params by the schema of each. @throws RpcError */
export const readParams = <Shape extends Record<string, z.ZodType>>(
  shape: Shape,
  params: readonly unknown[],
): { [Param in keyof Shape]: z.output<Shape[Param]> } => {
  const names = Object.keys(shape);
  if (params.length > names.length) throw invalidParams(`there are ${String(names.length)} params at most`);
  const parsed = safeParse(z.object(shape), Object.fromEntries(params.map((param, at) => [names[at], param])), {
    error: plainText,
  });
  if (parsed.success) return parsed.data as { [Param in keyof Shape]: z.output<Shape[Param]> };
  const [issue] = parsed.error.issues;
  throw invalidParams(`${issue?.path.join('.') ?? ''}: ${issue ? sentenceOf(issue) : 'does not fit'}`);
};
