import { InvalidArgumentError } from 'commander';
import { readAddress } from '../../../../shared/chain/identifiers/address.ts';

/** Reads an amount. @throws InvalidArgumentError, as the other readers do */
export const wei = (text: string): bigint => {
  if (/^\d{1,77}$/.test(text)) return BigInt(text);
  throw new InvalidArgumentError('It is not an amount of wei: decimal digits.');
};
export const chainNumber = (text: string): number => {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is not the id of a chain.');
};
/** Returns the address in EIP-55 form. */
export const anAddress = (text: string): string => {
  const address = readAddress(text);
  if (address === undefined) throw new InvalidArgumentError('It is not an address.');
  return address;
};
export const blockNumber = (text: string): number => {
  if (/^(0|[1-9]\d{0,14})$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is not the number of a block.');
};
