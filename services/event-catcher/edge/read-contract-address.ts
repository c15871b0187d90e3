import { readAddress } from '../../../shared/chain/address.ts';
import { invalid } from '../../../shared/edge/parse-request.ts';

/** In EIP-55 form. @throws Refusal validation_failed */
export const readContractAddress = (text: string): string => {
  const address = readAddress(text);
  if (address !== undefined) return address;
  const message = 'is no address: 0x and 40 hex digits, in mixed case with the right EIP-55 checksum';
  throw invalid([{ path: 'contractAddress', message }]);
};
