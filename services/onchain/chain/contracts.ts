import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export type ContractName = 'EntryPoint' | 'SimpleAccountFactory' | 'VerifyingPaymaster';

/**
 * The creation code of the contracts, `0x` hex without the arguments of their constructors; of EntryPointSimulations the
 * code that it would have on a chain.
 */
export const contractCode = JSON.parse(readFileSync(join(import.meta.dirname, 'contracts.json'), 'utf8')) as Readonly<
  Record<ContractName | 'EntryPointSimulations', string>
>;
