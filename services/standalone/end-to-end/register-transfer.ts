import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import { call, type Answered, type SignedIn } from '../../../shared/testing/http-caller.ethers.ts';

/** The event that the development token emits. */
const TRANSFER = 'event Transfer(address indexed from, address indexed to, uint256 value);';
const TRANSFER_ABI = JSON.stringify([
  {
    type: 'event',
    name: 'Transfer',
    anonymous: false,
    inputs: [
      { name: 'from', type: 'address', indexed: true },
      { name: 'to', type: 'address', indexed: true },
      { name: 'value', type: 'uint256', indexed: false },
    ],
  },
]);

/** Registers the Transfer event of a contract, from the first block on. */
export const registerTransfer = (
  { eventUrl }: DevelopmentFile,
  { bearer }: SignedIn,
  contractAddress: string,
): Promise<Answered> =>
  call(`${eventUrl}/api/v1/contracts`, {
    method: 'POST',
    headers: bearer,
    body: { chainId: 2484, contractAddress, eventSignature: TRANSFER, eventAbi: TRANSFER_ABI, startBlock: 0 },
  });
