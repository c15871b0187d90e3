import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import { callUntilServed, type Answered, type SignedIn } from '../../../shared/testing/http/http-caller.ethers.ts';

const parameters = [
  { name: 'from', type: 'address', indexed: true },
  { name: 'to', type: 'address', indexed: true },
  { name: 'value', type: 'uint256', indexed: false },
];
/** The event that the development token emits, and others that match its logs. */
const events = {
  transfer: {
    eventSignature: 'event Transfer(address indexed from, address indexed to, uint256 value);',
    eventAbi: [{ type: 'event', name: 'Transfer', anonymous: false, inputs: parameters }],
  },
  wronglyIndexed: {
    eventSignature: 'Transfer(address indexed,address indexed,uint256 indexed)',
    eventAbi: [{ type: 'event', name: 'Transfer', inputs: parameters.map((input) => ({ ...input, indexed: true })) }],
  },
  anonymous: {
    eventSignature: 'Noted(bytes32 indexed,address indexed,address indexed,uint256)',
    eventAbi: [
      {
        type: 'event',
        name: 'Noted',
        anonymous: true,
        inputs: [{ name: 'topic', type: 'bytes32', indexed: true }, ...parameters],
      },
    ],
  },
};

/** Registers an event of a token, by default from the first block on. */
export const registerTransfer = (
  { eventUrl, chainId }: Pick<DevelopmentFile, 'eventUrl' | 'chainId'>,
  { bearer }: SignedIn,
  contractAddress: string,
  event: keyof typeof events = 'transfer',
  startBlock = 0,
): Promise<Answered> =>
  callUntilServed(`${eventUrl}/api/v1/contracts`, {
    method: 'POST',
    headers: bearer,
    body: { chainId, contractAddress, ...events[event], startBlock },
  });
