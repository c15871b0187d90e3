import { checksumAddress } from '../../../../shared/chain/identifiers/address.ts';

/** `execute(address,uint256,bytes)` */
const EXECUTE = /^0xb61d27f60{24}([0-9a-f]{40})([0-9a-f]{64})/;

const read = new Map<string, { to: string; wei: bigint } | undefined>();

/** Returns the target and value of a call of `execute`; `undefined` for other call data. */
export const readExecute = (callData: string): { to: string; wei: bigint } | undefined => {
  if (read.has(callData)) return read.get(callData);
  const [, to = '', wei = ''] = EXECUTE.exec(callData) ?? [];
  const found = to === '' ? undefined : { to: checksumAddress(to), wei: BigInt(`0x${wei}`) };
  read.set(callData, found);
  return found;
};
